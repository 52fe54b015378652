#ifndef DOCKET_SERVICES_LOG_STORE_TAIL_FOLLOWER_H_
#define DOCKET_SERVICES_LOG_STORE_TAIL_FOLLOWER_H_

#include <memory>
#include <set>
#include <string>
#include <thread>

#include "absl/time/time.h"
#include "services/common/mutex.h"
#include "services/log/core/feed_set.h"
#include "services/log/core/ids.h"

namespace docket::log {

// Tells other replicas of this one's commits, and this one's feeds of theirs.
//
// Commits travel as notifications on a connection of its own: the first at once, then at most one in `notify_every`,
// with all the shards since. They are hints: whatever is lost is found by looking at the ends of the followed shards
// every `probe_every`. The table is the only truth.
//
// Owns a thread. Thread-safe. `feeds` must outlive it.
class TailFollower {
 public:
  struct Options {
    absl::Duration notify_every = absl::Milliseconds(5);
    absl::Duration probe_every = absl::Milliseconds(250);
    bool listen = true;  // false: as if every notification were lost
  };

  TailFollower(const std::string& connection_string, FeedSet& feeds, Options options);
  ~TailFollower();
  TailFollower(const TailFollower&) = delete;
  TailFollower& operator=(const TailFollower&) = delete;

  // This replica committed to the shard. Does not block.
  void Committed(ShardId shard);

 private:
  struct Link;

  void Run();
  // Sends and receives. Throws what libpqxx throws.
  void Exchange();
  void WaitFor(absl::Duration time);

  const std::string connection_string_;
  FeedSet& feeds_;
  const Options options_;
  const int wake_;  // an eventfd

  // The thread's.
  std::set<ShardId> hinted_;
  std::unique_ptr<Link> link_;  // null while there is no connection
  absl::Time notify_at_ = absl::InfinitePast();
  absl::Time connect_at_ = absl::InfinitePast();

  Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<ShardId> committed_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace docket::log

#endif  // DOCKET_SERVICES_LOG_STORE_TAIL_FOLLOWER_H_
