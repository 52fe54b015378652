#ifndef DOCKET_SERVICES_LOG_CORE_FEED_SET_H_
#define DOCKET_SERVICES_LOG_CORE_FEED_SET_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "services/common/mutex.h"
#include "services/log/core/event_store.h"
#include "services/log/core/ids.h"
#include "services/log/core/shard_feed.h"

namespace docket::log {

// The feeds of the shards that are written or followed here, made at first use, and the names of their sessions.
//
// Thread-safe. `store` must outlive it; feeds live as long as it does.
class FeedSet {
 public:
  struct Options {
    ShardFeed::Options feed;
    size_t cached_names = 65536;
  };
  struct Names {
    std::string tenant_id;
    std::string session_id;
  };

  FeedSet(EventStore& store, Options options) : store_(store), options_(options) {}

  ShardFeed& Feed(ShardId shard);
  // The shards that somebody follows, ascending.
  std::vector<ShardId> Followed() const;

  // Reads the log's end and takes the feed there, page by page; a feed that has not begun begins at the end. Blocks.
  absl::Status CatchUp(ShardId shard);
  // The same for all that are followed, and one look for those that have nothing new. Blocks.
  absl::Status Probe();

  // Whose events a session key stands for. Blocks when it is not known here yet.
  absl::StatusOr<std::shared_ptr<const Names>> NamesOf(ShardId shard, SessionPk pk);

 private:
  absl::Status CatchUpTo(ShardId shard, const ShardHead& head);

  EventStore& store_;
  const Options options_;
  mutable Mutex mutex_;
  absl::flat_hash_map<ShardId, std::unique_ptr<ShardFeed>> feeds_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::pair<ShardId, SessionPk>, std::shared_ptr<const Names>> names_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace docket::log

#endif  // DOCKET_SERVICES_LOG_CORE_FEED_SET_H_
