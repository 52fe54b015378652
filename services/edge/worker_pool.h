#ifndef DOCKET_SERVICES_EDGE_WORKER_POOL_H_
#define DOCKET_SERVICES_EDGE_WORKER_POOL_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "services/common/mutex.h"

namespace docket {

// Threads that run what may block, so that gRPC's own threads never do.
//
// Starts work in the order it came; holds at most `max_queued` that wait for a thread. The destructor runs what is
// queued and joins. Run() may be called from any thread, also from the pool's own, but not during the destructor.
class WorkerPool {
 public:
  WorkerPool(size_t threads, size_t max_queued);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // Runs `work` on a thread of the pool, later. Errors: QUEUE_FULL, with when to try again; `work` then never runs.
  absl::Status Run(std::function<void()> work) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Loop() ABSL_LOCKS_EXCLUDED(mutex_);

  const size_t max_queued_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<std::function<void()>> queue_ ABSL_GUARDED_BY(mutex_);
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace docket

#endif  // DOCKET_SERVICES_EDGE_WORKER_POOL_H_
