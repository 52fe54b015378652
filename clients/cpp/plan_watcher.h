#ifndef DOCKET_CLIENTS_CPP_PLAN_WATCHER_H_
#define DOCKET_CLIENTS_CPP_PLAN_WATCHER_H_

#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "clients/cpp/watched_plans.h"
#include "docket/todo/v1/todo_service.grpc.pb.h"
#include "grpcpp/channel.h"
#include "services/common/mutex.h"

namespace docket::client {

// Who is told what a watch shows. Called on the watcher's thread; may block it.
class PlanObserver {
 public:
  virtual ~PlanObserver() = default;
  // `plans` shows these plans differently; none after a heartbeat. `message` is what came.
  virtual void Updated(const WatchedPlans& plans, const std::vector<WatchedKey>& changed,
                       const todo::v1::WatchPlansResponse& message) = 0;
  // The stream ended; it is tried again. What was shown still is what is known.
  virtual void Disconnected(const absl::Status& why) = 0;
  // The watch ended for good: its session is not there, its filter too wide, its request wrong.
  virtual void Failed(const absl::Status& why) = 0;
};

// Watches plans, and goes on watching: a stream that ends, hangs or is moved elsewhere is followed by another.
//
// The destructor ends it; afterwards the observer is not called.
class PlanWatcher {
 public:
  struct Options {
    // A stream that says nothing for so long is given up. Heartbeats come every 15 s.
    absl::Duration silence = absl::Seconds(45);
  };

  // `observer` must outlive it.
  PlanWatcher(std::shared_ptr<grpc::Channel> channel, todo::v1::WatchPlansRequest request, PlanObserver& observer,
              Options options);
  ~PlanWatcher();
  PlanWatcher(const PlanWatcher&) = delete;
  PlanWatcher& operator=(const PlanWatcher&) = delete;

 private:
  void Run();
  // One stream, to its end. `again` is when the server wants the next.
  absl::Status RunStream(absl::Duration& again, bool& any);
  void WatchForSilence();

  const std::unique_ptr<todo::v1::TodoService::Stub> stub_;
  const todo::v1::WatchPlansRequest request_;
  PlanObserver& observer_;
  const Options options_;
  WatchedPlans plans_;  // the thread's own
  Mutex mutex_;
  CondVar changed_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  grpc::ClientContext* context_ ABSL_GUARDED_BY(mutex_) = nullptr;  // of the stream that runs
  absl::Time heard_at_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
  std::thread watchdog_;
};

}  // namespace docket::client

#endif  // DOCKET_CLIENTS_CPP_PLAN_WATCHER_H_
