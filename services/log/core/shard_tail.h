#ifndef DOCKET_SERVICES_LOG_CORE_SHARD_TAIL_H_
#define DOCKET_SERVICES_LOG_CORE_SHARD_TAIL_H_

#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/log/core/event_store.h"
#include "services/log/core/ids.h"
#include "services/log/core/session_state.h"
#include "services/log/core/shard_feed.h"

namespace docket::log {

// What this replica knows of a shard's end: the position reached, the id of the event there, and the folded states of
// active sessions.
//
// Advance() is the only way forward: fed by this replica's commits and by what an append or a read brought back. Each
// position is taken once; cached states are folded along, and the feed is told. A state can be ahead of the position,
// never behind it.
//
// Not thread-safe: one lane owns it. `store` and `feed` must outlive it.
class ShardTail {
 public:
  struct Options {
    size_t cached_states = 4096;
  };

  ShardTail(ShardId shard, EventStore& store, ShardFeed& feed, Options options)
      : shard_(shard), store_(store), feed_(feed), options_(options) {}

  // Reads where the log ends, unless that is known. Blocks.
  absl::Status Start();

  ShardId shard() const { return shard_; }
  int32_t epoch() const { return epoch_; }
  Position position() const { return position_; }
  // Of the event at position(); nil if that is not known.
  const EventId& id() const { return id_; }

  // Takes what is new of the events, which are all there are after some position at or before position().
  void Advance(const std::vector<StoredEvent>& events);
  // Reads on from position() to the log's end, page by page. Blocks.
  absl::Status CatchUp();
  // The log lost its end, or another replica said so: drops the states and starts anew from `head`.
  void Reset(const ShardHead& head);

  // The state of a session, loaded if it is not cached; null if there is no such session. Blocks for a load.
  absl::StatusOr<std::shared_ptr<const SessionState>> State(absl::string_view tenant_id, absl::string_view session_id);
  // Keeps the state of a session that was opened through this tail. Its events were not given to Advance() yet.
  void Keep(SessionState state);

  // The rows of sessions that changed since the last call that was followed by Flushed().
  std::vector<SessionRow> DirtyRows() const;
  void Flushed(const std::vector<SessionRow>& rows);
  bool dirty() const { return !dirty_.empty(); }

 private:
  using Key = std::pair<std::string, std::string>;  // tenant, session

  struct Entry {
    std::shared_ptr<SessionState> state;
    std::list<Key>::iterator use;
  };

  Entry& Insert(SessionState state);

  const ShardId shard_;
  EventStore& store_;
  ShardFeed& feed_;
  const Options options_;
  bool started_ = false;
  int32_t epoch_ = 0;
  Position position_;
  EventId id_;
  absl::flat_hash_map<Key, Entry> states_;
  absl::flat_hash_map<SessionPk, Key> keys_;  // of what is in states_
  std::list<Key> uses_;                       // the longest unused first
  absl::flat_hash_map<SessionPk, std::shared_ptr<const SessionState>> dirty_;
};

}  // namespace docket::log

#endif  // DOCKET_SERVICES_LOG_CORE_SHARD_TAIL_H_
