#ifndef DOCKET_SERVICES_LOG_CORE_APPEND_LANE_H_
#define DOCKET_SERVICES_LOG_CORE_APPEND_LANE_H_

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "docket/log/v1/log_service.pb.h"
#include "services/common/mutex.h"
#include "services/log/core/event_store.h"
#include "services/log/core/shard_tail.h"

namespace docket::log {

// Turns many small appends to one shard into few database commits.
//
// Submit() queues one request and returns at once. The lane's thread takes whatever has queued up since its last
// commit, up to max_batch_events and max_batch_bytes, in turn from each tenant, judges each request against the folded
// states of its shard's tail, and stores what is good as one batch. There is no timer: an idle lane commits a lone
// request at once, a busy one batches because commits take time.
//
// Promises:
//  - `done` runs exactly once per accepted request, on the lane's thread, and never with OK before the commit is
//  durable.
//  - Requests to one session commit in the order that Submit() accepted them.
//  - One bad request fails alone; the rest of its batch still commits.
//  - A full queue is refused with QUEUE_FULL, never waited on.
//
// Thread-safe. `store` and `feed` must outlive it. The destructor stops accepting, commits what is queued, flushes
// summaries and joins the thread.
class AppendLane {
 public:
  struct Options {
    int max_batch_events = 256;
    size_t max_batch_bytes = 256 << 10;
    size_t max_queued_per_tenant = 4096;
    // How long a batch whose outcome is not known, or that finds the database away, is tried again before its requests
    // fail.
    absl::Duration give_up_after = absl::Seconds(10);
    absl::Duration flush_summaries_after = absl::Seconds(1);
    ShardTail::Options tail;
    // Called after each commit, on the lane's thread, before anybody is answered. It must not block.
    std::function<void(ShardId)> committed = [](ShardId) {};
  };
  using Done = std::function<void(absl::StatusOr<v1::AppendResponse>)>;
  // Requests of one stream: once one of them failed in a way that a retry may change, none after it is appended.
  struct Order {
    std::atomic<bool> broken{false};
  };

  AppendLane(ShardId shard, EventStore& store, ShardFeed& feed, Options options);
  ~AppendLane();
  AppendLane(const AppendLane&) = delete;
  AppendLane& operator=(const AppendLane&) = delete;

  // Queues a request whose shape is right (event_shape.h). On an error nothing was queued and `done` will not run.
  // Errors: QUEUE_FULL, DRAINING.
  absl::Status Submit(std::shared_ptr<const v1::AppendRequest> request, Done done,
                      std::shared_ptr<Order> order = nullptr);

 private:
  struct Pending {
    std::shared_ptr<const v1::AppendRequest> request;
    Done done;
    std::shared_ptr<Order> order;
    // Events of the request that were stored by it or before it, once that was looked up.
    std::vector<StoredEvent> known;
    int first_new = 0;
    // Why it is not to be appended, as last judged; OK: it is.
    absl::Status refusal;
    bool answered = false;
  };
  struct Round;

  static void Answer(Pending& pending, absl::StatusOr<v1::AppendResponse> answer);

  void Run();
  std::vector<Pending> TakeBatch() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static void AnswerRefused(std::vector<Pending>& batch);
  void Process(std::vector<Pending> batch);
  absl::Status JudgeAll(std::vector<Pending>& batch, Round& round);
  absl::Status JudgeOne(Pending& pending, Round& round);
  absl::Status LookUp(Pending& pending, Round& round, SessionPk pk);
  void AnswerKnown(Pending& pending, Round& round);
  bool Conclude(std::vector<Pending>& batch, Round& round, AppendOutcome outcome);
  void Stored(std::vector<Pending>& batch, Round& round, const AppendOutcome& outcome);
  absl::Status Diverged();
  // Also the later commit that proves an earlier one which was in doubt.
  absl::Status FlushSummaries();

  const ShardId shard_;
  EventStore& store_;
  const Options options_;
  ShardTail tail_;         // the thread's
  absl::Time flushed_at_;  // the thread's

  Mutex mutex_;
  CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<std::string, std::deque<Pending>> queues_ ABSL_GUARDED_BY(mutex_);  // by tenant; none is empty
  std::string last_tenant_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace docket::log

#endif  // DOCKET_SERVICES_LOG_CORE_APPEND_LANE_H_
