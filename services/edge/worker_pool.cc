#include "services/edge/worker_pool.h"

#include <utility>

#include "absl/time/time.h"
#include "services/common/errors.h"
#include "services/common/log.h"

namespace docket {
namespace {

constexpr absl::Duration kRetryAfter = absl::Milliseconds(200);

}  // namespace

WorkerPool::WorkerPool(size_t threads, size_t max_queued) : max_queued_(max_queued) {
  CrashUnless(threads > 0 && max_queued > 0, "a worker pool without threads or without a queue");
  threads_.reserve(threads);
  for (size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { Loop(); });
}

WorkerPool::~WorkerPool() {
  {
    MutexLock lock(&mutex_);
    ending_ = true;
  }
  changed_.SignalAll();
  for (auto& thread : threads_) thread.join();
}

absl::Status WorkerPool::Run(std::function<void()> work) {
  {
    MutexLock lock(&mutex_);
    if (queue_.size() >= max_queued_) {
      return WithRetryAfter(MakeError(v1::ERROR_REASON_QUEUE_FULL, "the server has too many requests waiting"),
                            kRetryAfter);
    }
    queue_.push_back(std::move(work));
  }
  changed_.Signal();
  return absl::OkStatus();
}

void WorkerPool::Loop() {
  while (true) {
    std::function<void()> work;
    {
      MutexLock lock(&mutex_);
      while (queue_.empty() && !ending_) changed_.Wait(&mutex_);
      if (queue_.empty()) return;
      work = std::move(queue_.front());
      queue_.pop_front();
    }
    work();
  }
}

}  // namespace docket
