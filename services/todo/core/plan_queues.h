#ifndef DOCKET_SERVICES_TODO_CORE_PLAN_QUEUES_H_
#define DOCKET_SERVICES_TODO_CORE_PLAN_QUEUES_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "services/common/mutex.h"
#include "services/todo/core/plan_fold.h"

namespace docket::todo {

// Runs the writes of one plan one after the other, those of different plans side by side.
//
// Writes of one plan that ran side by side would only refuse each other. Thread-safe. Must outlive the work.
class PlanQueues {
 public:
  // Runs work soon, on another thread, or says why not. Called with a lock held.
  using Runner = std::function<absl::Status(std::function<void()> work)>;

  // At most `max_waiting` of one plan wait.
  PlanQueues(Runner run, size_t max_waiting) : run_(std::move(run)), max_waiting_(max_waiting) {}

  // Runs `work` once what was queued for this plan before has ended. Errors: QUEUE_FULL, those of the runner; `work`
  // then never runs.
  absl::Status Run(const PlanKey& plan, std::function<void()> work);

 private:
  void RunNext(const PlanKey& plan, std::function<void()> work);

  const Runner run_;
  const size_t max_waiting_;
  Mutex mutex_;
  // What waits behind the work that runs; there is an entry as long as some runs.
  absl::flat_hash_map<PlanKey, std::deque<std::function<void()>>> waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace docket::todo

#endif  // DOCKET_SERVICES_TODO_CORE_PLAN_QUEUES_H_
