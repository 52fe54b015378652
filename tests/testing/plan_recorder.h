#ifndef DOCKET_TESTS_TESTING_PLAN_RECORDER_H_
#define DOCKET_TESTS_TESTING_PLAN_RECORDER_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "clients/cpp/plan_watcher.h"
#include "services/common/mutex.h"

namespace docket::testing {

// Keeps what a watch shows, for tests to wait on. Thread-safe.
class PlanRecorder : public client::PlanObserver {
 public:
  // What was shown at one moment.
  struct State {
    std::map<client::WatchedKey, todo::v1::Plan> plans;
    bool synced = false;
    bool is_stale = false;
    int64_t changes = 0;  // PlanChanged messages
    int64_t disconnections = 0;
    absl::Status failed;
    // Plans that were shown with a lower revision after a higher one.
    std::vector<client::WatchedKey> went_back;
  };

  void Updated(const client::WatchedPlans& plans, const std::vector<client::WatchedKey>& changed,
               const todo::v1::WatchPlansResponse& message) override;
  void Disconnected(const absl::Status& why) override;
  void Failed(const absl::Status& why) override;

  // Waits until `reached`; false if it is not within `timeout`.
  bool WaitFor(const std::function<bool(const State&)>& reached, absl::Duration timeout = absl::Seconds(60));
  State state();

 private:
  Mutex mutex_;
  CondVar changed_;
  State state_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace docket::testing

#endif  // DOCKET_TESTS_TESTING_PLAN_RECORDER_H_
