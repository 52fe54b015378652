#include "services/log/core/feed_set.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "services/common/status_macros.h"

namespace docket::log {

ShardFeed& FeedSet::Feed(ShardId shard) {
  MutexLock lock(&mutex_);
  auto& feed = feeds_[shard];
  if (feed == nullptr) feed = std::make_unique<ShardFeed>(options_.feed);
  return *feed;
}

std::vector<ShardId> FeedSet::Followed() const {
  std::vector<ShardId> shards;
  MutexLock lock(&mutex_);
  for (const auto& [shard, feed] : feeds_) {
    if (feed->followed()) shards.push_back(shard);
  }
  std::sort(shards.begin(), shards.end());
  return shards;
}

absl::Status FeedSet::CatchUp(ShardId shard) {
  DOCKET_ASSIGN_OR_RETURN(const ShardHead head, store_.ReadHead(shard));
  return CatchUpTo(shard, head);
}

absl::Status FeedSet::Probe() {
  const std::vector<ShardId> shards = Followed();
  if (shards.empty()) return absl::OkStatus();
  DOCKET_ASSIGN_OR_RETURN(const auto heads, store_.ReadHeads(shards));
  for (const auto& [shard, head] : heads) DOCKET_RETURN_IF_ERROR(CatchUpTo(shard, head));
  return absl::OkStatus();
}

absl::Status FeedSet::CatchUpTo(ShardId shard, const ShardHead& head) {
  ShardFeed& feed = Feed(shard);
  feed.Begin({head.tail, head.epoch});
  for (;;) {
    const Position after = feed.end().position;
    if (after >= head.tail) return absl::OkStatus();
    DOCKET_ASSIGN_OR_RETURN(const EventPage page, store_.ReadShard(shard, {.after = after}));
    feed.Advance(after, page.through, page.events);
    if (page.through <= after) return absl::OkStatus();
  }
}

absl::StatusOr<std::shared_ptr<const FeedSet::Names>> FeedSet::NamesOf(ShardId shard, SessionPk pk) {
  const std::pair key(shard, pk);
  {
    MutexLock lock(&mutex_);
    auto found = names_.find(key);
    if (found != names_.end()) return found->second;
  }
  DOCKET_ASSIGN_OR_RETURN(const std::vector<SessionRow> rows, store_.FindSessions(shard, {pk}));
  if (rows.empty()) return absl::InternalError(absl::StrCat("the log has no session ", pk.value));
  auto names = std::make_shared<const Names>(Names{rows[0].tenant_id, rows[0].session_id});
  MutexLock lock(&mutex_);
  // Any will do: the busy ones come back at once.
  if (names_.size() >= options_.cached_names) names_.erase(names_.begin());
  names_[key] = names;
  return names;
}

}  // namespace docket::log
