#ifndef DOCKET_SERVICES_LOG_CORE_SHARD_SET_H_
#define DOCKET_SERVICES_LOG_CORE_SHARD_SET_H_

#include <memory>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "docket/log/v1/log_service.pb.h"
#include "services/common/mutex.h"
#include "services/log/core/append_lane.h"
#include "services/log/core/event_store.h"
#include "services/log/core/feed_set.h"
#include "services/log/core/ids.h"

namespace docket::log {

// The lanes of the shards that this replica writes to, made at first use. A shard that nobody writes to costs nothing.
//
// Thread-safe. `store` and `feeds` must outlive it. The destructor drains.
class ShardSet {
 public:
  ShardSet(EventStore& store, FeedSet& feeds, int32_t shard_count, AppendLane::Options options);
  ~ShardSet();

  int32_t shard_count() const { return shard_count_; }
  ShardId ShardOfTenant(absl::string_view tenant_id) const;

  // Queues the request on its tenant's lane. Errors that need no lane (INVALID_REQUEST, INVALID_EVENT, ..., QUEUE_FULL,
  // DRAINING) come at once, and `done` does not run; else `done` runs exactly once, on the lane's thread.
  absl::Status Append(std::shared_ptr<const v1::AppendRequest> request, AppendLane::Done done,
                      std::shared_ptr<AppendLane::Order> order = nullptr);

  // Commits what is queued and refuses everything after with DRAINING. Blocks.
  void Drain();

 private:
  EventStore& store_;
  FeedSet& feeds_;
  const int32_t shard_count_;
  const AppendLane::Options options_;
  Mutex mutex_;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  absl::flat_hash_map<ShardId, std::unique_ptr<AppendLane>> lanes_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace docket::log

#endif  // DOCKET_SERVICES_LOG_CORE_SHARD_SET_H_
