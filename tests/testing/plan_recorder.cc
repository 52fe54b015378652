#include "tests/testing/plan_recorder.h"

#include "absl/time/clock.h"

namespace docket::testing {

void PlanRecorder::Updated(const client::WatchedPlans& plans, const std::vector<client::WatchedKey>& changed,
                           const todo::v1::WatchPlansResponse& message) {
  MutexLock lock(&mutex_);
  for (const client::WatchedKey& key : changed) {
    const auto plan = plans.plans().find(key);
    const auto before = state_.plans.find(key);
    if (plan == plans.plans().end()) {
      state_.plans.erase(key);
      continue;
    }
    if (before != state_.plans.end() && before->second.revision() > plan->second.revision())
      state_.went_back.push_back(key);
    state_.plans[key] = plan->second;
  }
  state_.synced = plans.synced();
  state_.is_stale = plans.stale_for().has_value();
  if (message.has_plan_changed()) ++state_.changes;
  changed_.SignalAll();
}

void PlanRecorder::Disconnected(const absl::Status& /*why*/) {
  MutexLock lock(&mutex_);
  ++state_.disconnections;
  changed_.SignalAll();
}

void PlanRecorder::Failed(const absl::Status& why) {
  MutexLock lock(&mutex_);
  state_.failed = why;
  changed_.SignalAll();
}

bool PlanRecorder::WaitFor(const std::function<bool(const State&)>& reached, absl::Duration timeout) {
  const absl::Time give_up = absl::Now() + timeout;
  MutexLock lock(&mutex_);
  while (!reached(state_)) {
    if (absl::Now() >= give_up) return false;
    changed_.WaitWithTimeout(&mutex_, give_up - absl::Now());
  }
  return true;
}

PlanRecorder::State PlanRecorder::state() {
  MutexLock lock(&mutex_);
  return state_;
}

}  // namespace docket::testing
