#include "services/log/core/shard_set.h"

#include <utility>

#include "services/common/errors.h"
#include "services/common/sha256.h"
#include "services/common/status_macros.h"
#include "services/log/core/event_shape.h"

namespace docket::log {

ShardSet::ShardSet(EventStore& store, FeedSet& feeds, int32_t shard_count, AppendLane::Options options)
    : store_(store), feeds_(feeds), shard_count_(shard_count), options_(std::move(options)) {}

ShardSet::~ShardSet() {
  Drain();
}

ShardId ShardSet::ShardOfTenant(absl::string_view tenant_id) const {
  return ShardId{ShardOf(tenant_id, shard_count_)};
}

absl::Status ShardSet::Append(std::shared_ptr<const v1::AppendRequest> request, AppendLane::Done done,
                              std::shared_ptr<AppendLane::Order> order) {
  DOCKET_RETURN_IF_ERROR(CheckAppendShape(*request));
  const ShardId shard = ShardOfTenant(request->tenant_id());
  MutexLock lock(&mutex_);
  if (draining_) return MakeError(docket::v1::ERROR_REASON_DRAINING, "the server is shutting down");
  auto& lane = lanes_[shard];
  if (lane == nullptr) lane = std::make_unique<AppendLane>(shard, store_, feeds_.Feed(shard), options_);
  return lane->Submit(std::move(request), std::move(done), std::move(order));
}

void ShardSet::Drain() {
  absl::flat_hash_map<ShardId, std::unique_ptr<AppendLane>> lanes;
  {
    MutexLock lock(&mutex_);
    draining_ = true;
    lanes.swap(lanes_);
  }
  lanes.clear();  // each commits what it has
}

}  // namespace docket::log
