#ifndef DOCKET_CLIENTS_CPP_WATCHED_PLANS_H_
#define DOCKET_CLIENTS_CPP_WATCHED_PLANS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/time/time.h"
#include "docket/todo/v1/todo_service.pb.h"

namespace docket::client {

// Names a plan of one tenant. Orders by session, then `main` first.
struct WatchedKey {
  std::string session_id;
  std::string agent_id;

  friend bool operator<(const WatchedKey& a, const WatchedKey& b) {
    const bool a_sub = a.agent_id != "main", b_sub = b.agent_id != "main";
    return std::tie(a.session_id, a_sub, a.agent_id) < std::tie(b.session_id, b_sub, b.agent_id);
  }
  friend bool operator==(const WatchedKey& a, const WatchedKey& b) {
    return a.session_id == b.session_id && a.agent_id == b.agent_id;
  }
};

// The plans that a watch has shown, over all its streams.
//
// A plan is never replaced by a lower revision of it: a stream from a replica that is behind changes nothing until it
// has caught up. Only a Reset, after which the log's numbers start anew, forgets what was shown. Pure; not thread-safe.
class WatchedPlans {
 public:
  // Takes the next message. Returns the plans that are to be shown differently.
  std::vector<WatchedKey> Apply(const todo::v1::WatchPlansResponse& message);
  // A new stream begins: its snapshot replaces what is held, once it is complete.
  void BeginStream();

  const std::map<WatchedKey, todo::v1::Plan>& plans() const { return plans_; }
  // Whether a snapshot was complete since the start.
  bool synced() const { return synced_; }
  // How long the log was away by the last message; nothing if it was not.
  std::optional<absl::Duration> stale_for() const { return stale_for_; }

 private:
  bool Put(const todo::v1::Plan& plan);
  std::vector<WatchedKey> Complete();

  std::map<WatchedKey, todo::v1::Plan> plans_;
  std::map<WatchedKey, int64_t> erased_;  // revisions of what was erased, at most kMaxErased
  std::map<WatchedKey, todo::v1::Plan> snapshot_;
  bool synced_ = false;
  bool reset_ = false;
  std::optional<absl::Duration> stale_for_;
};

}  // namespace docket::client

#endif  // DOCKET_CLIENTS_CPP_WATCHED_PLANS_H_
