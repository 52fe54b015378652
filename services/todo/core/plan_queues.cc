#include "services/todo/core/plan_queues.h"

#include "absl/strings/str_cat.h"
#include "services/common/errors.h"

namespace docket::todo {

absl::Status PlanQueues::Run(const PlanKey& plan, std::function<void()> work) {
  MutexLock lock(&mutex_);
  const auto [queue, is_first] = waiting_.try_emplace(plan);
  if (is_first) {
    absl::Status started = run_([this, plan, work = std::move(work)] { RunNext(plan, work); });
    if (!started.ok()) waiting_.erase(plan);
    return started;
  }
  if (queue->second.size() >= max_waiting_) {
    return WithRetryAfter(MakeError(docket::v1::ERROR_REASON_QUEUE_FULL,
                                    absl::StrCat(max_waiting_, " writes of this plan are waiting already")),
                          absl::Milliseconds(500));
  }
  queue->second.push_back(std::move(work));
  return absl::OkStatus();
}

void PlanQueues::RunNext(const PlanKey& plan, std::function<void()> work) {
  for (;;) {
    work();
    MutexLock lock(&mutex_);
    const auto queue = waiting_.find(plan);
    if (queue->second.empty()) {
      waiting_.erase(queue);
      return;
    }
    work = std::move(queue->second.front());
    queue->second.pop_front();
  }
}

}  // namespace docket::todo
