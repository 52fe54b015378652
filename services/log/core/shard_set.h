#ifndef DOCKET_SERVICES_LOG_CORE_SHARD_SET_H_
#define DOCKET_SERVICES_LOG_CORE_SHARD_SET_H_

#include <functional>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "docket/log/v1/log_service.pb.h"
#include "services/common/mutex.h"
#include "services/log/core/append_lane.h"
#include "services/log/core/event_store.h"
#include "services/log/core/ids.h"
#include "services/log/core/shard_tail.h"

namespace docket::log {

// The shards that this replica is busy with: a tail and, once something is appended, a lane for each.
//
// A shard that nobody writes to and nobody follows costs nothing. Tails and lanes are made at first use and kept.
//
// Thread-safe. `store` must outlive it. The destructor drains.
class ShardSet {
 public:
  struct Options {
    int32_t shard_count = 1;
    ShardTail::Options tail;
    AppendLane::Options lane;
    // Runs after each commit, on the lane's thread: other replicas want to know. Must not block.
    std::function<void(ShardId, Position)> committed;
  };

  ShardSet(EventStore& store, Options options);
  ~ShardSet();

  ShardId ShardOfTenant(absl::string_view tenant_id) const;
  int32_t shard_count() const { return options_.shard_count; }

  // Queues the request on its tenant's lane. Errors that need no lane (INVALID_REQUEST, INVALID_EVENT, ..., QUEUE_FULL,
  // DRAINING) come at once, and `done` does not run; else `done` runs exactly once, on the lane's thread.
  absl::Status Append(std::shared_ptr<const v1::AppendRequest> request, AppendLane::Done done);

  // The shard's tail, started: it knows where the shard's log ends. Blocks for one read of the store the first time.
  absl::StatusOr<ShardTail*> Tail(ShardId shard);

  // The tails that exist and have followers, or a lane that wrote lately: those worth probing.
  std::vector<ShardTail*> FollowedTails();

  // Commits what is queued, refuses everything after with DRAINING, flushes summaries. Blocks.
  void Drain();

 private:
  struct Shard;

  Shard& Get(ShardId shard);

  EventStore& store_;
  const Options options_;
  Mutex mutex_;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  absl::flat_hash_map<ShardId, std::unique_ptr<Shard>> shards_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace docket::log

#endif  // DOCKET_SERVICES_LOG_CORE_SHARD_SET_H_
