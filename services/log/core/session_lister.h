#ifndef DOCKET_SERVICES_LOG_CORE_SESSION_LISTER_H_
#define DOCKET_SERVICES_LOG_CORE_SESSION_LISTER_H_

#include <memory>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "docket/log/v1/log_service.pb.h"
#include "services/common/mutex.h"
#include "services/log/core/event_store.h"
#include "services/log/core/ids.h"

namespace docket::log {

// Lists a tenant's sessions from their rows, which it completes first: rows lag behind appends, and those of a replica
// that was killed stay behind until somebody folds on from the log.
//
// Thread-safe. `store` must outlive it.
class SessionLister {
 public:
  // Rows are completed once in this time.
  static constexpr absl::Duration kFresh = absl::Milliseconds(800);

  explicit SessionLister(EventStore& store) : store_(store) {}

  // Errors: INVALID_REQUEST, TOKEN_INVALID, STORE_UNAVAILABLE. Blocks.
  absl::StatusOr<v1::ListSessionsResponse> List(ShardId shard, const v1::ListSessionsRequest& request);

  // Folds every session that has events beyond its row, so that the rows are complete up to the position answered, the
  // log's end when this began. Blocks.
  absl::StatusOr<Position> TakeUp(ShardId shard);

 private:
  struct Shard {
    Mutex mutex;  // held while rows are completed: once for all who wait
    Position complete ABSL_GUARDED_BY(mutex);
    absl::Time at ABSL_GUARDED_BY(mutex) = absl::InfinitePast();
  };

  absl::Status Complete(ShardId shard, const TouchedPage& page);

  EventStore& store_;
  Mutex mutex_;
  absl::flat_hash_map<ShardId, std::unique_ptr<Shard>> shards_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace docket::log

#endif  // DOCKET_SERVICES_LOG_CORE_SESSION_LISTER_H_
