#ifndef DOCKET_SERVICES_LOG_CORE_APPEND_LANE_H_
#define DOCKET_SERVICES_LOG_CORE_APPEND_LANE_H_

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "docket/log/v1/log_service.pb.h"
#include "services/log/core/event_store.h"
#include "services/log/core/shard_tail.h"

namespace docket::log {

// Turns many small appends to one shard into few database commits.
//
// Submit() queues one request and returns at once. The lane's thread takes whatever has queued up since its last
// commit, up to Options::max_batch_events and max_batch_bytes, fairly between tenants, judges each request against the
// folded states of its shard's tail, and stores what is good as one batch. There is no timer: an idle lane commits a
// lone request at once, a busy one batches because commits take time.
//
// Promises:
//  - `done` runs exactly once per accepted request, on the lane's thread, and never with OK before the commit is
//  durable.
//  - Requests to one session commit in the order that Submit() accepted them.
//  - One bad request fails alone; the rest of its batch still commits.
//  - A full queue is refused with QUEUE_FULL, never waited on.
//
// Thread-safe. `tail` and `store` must outlive it. The destructor stops accepting, commits what is queued, and joins
// the thread.
class AppendLane {
 public:
  struct Options {
    int max_batch_events = 256;
    size_t max_batch_bytes = 256 << 10;
    int max_queued_per_tenant = 4096;
    // How long a batch whose outcome is not known, or that finds the database away, is tried again before its requests
    // fail.
    absl::Duration give_up_after = absl::Seconds(10);
    absl::Duration flush_summaries_after = absl::Seconds(1);
    std::function<void(ShardId, Position)> committed;
  };
  using Done = std::function<void(absl::StatusOr<v1::AppendResponse>)>;
};

}  // namespace docket::log

#endif  // DOCKET_SERVICES_LOG_CORE_APPEND_LANE_H_
