#ifndef DOCKET_SERVICES_COMMON_CLOCK_H_
#define DOCKET_SERVICES_COMMON_CLOCK_H_

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "services/common/mutex.h"

namespace docket {

// The time of day. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual absl::Time Now() const = 0;
};

// The machine's clock.
class SystemClock : public Clock {
 public:
  absl::Time Now() const override { return absl::Now(); }
};

// A clock that stands until it is moved. For tests.
class FakeClock : public Clock {
 public:
  explicit FakeClock(absl::Time now = absl::FromUnixSeconds(1'700'000'000)) : now_(now) {}

  absl::Time Now() const override {
    MutexLock lock(&mutex_);
    return now_;
  }

  void Advance(absl::Duration by) {
    MutexLock lock(&mutex_);
    now_ += by;
  }

 private:
  mutable Mutex mutex_;
  absl::Time now_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace docket

#endif  // DOCKET_SERVICES_COMMON_CLOCK_H_
