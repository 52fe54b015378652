#ifndef DOCKET_SERVICES_COMMON_MUTEX_H_
#define DOCKET_SERVICES_COMMON_MUTEX_H_

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"

namespace docket {

// A mutex over std::mutex with Abseil's annotations.
//
// Has the names of absl::Mutex, which cannot be used: the packaged library is not instrumented, so the thread sanitizer
// reports correct programs. clang rejects unlocked access to what is ABSL_GUARDED_BY it.
class ABSL_LOCKABLE Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  void Unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

// Holds a Mutex for a scope.
class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex* mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) : mutex_(mutex) { mutex_->Lock(); }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mutex_->Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex* const mutex_;
};

// A condition variable for Mutex. Wakes can be spurious: wait in a loop over the condition.
class CondVar {
 public:
  void Wait(Mutex* mutex) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    std::unique_lock<std::mutex> lock(mutex->mutex_, std::adopt_lock);
    cv_.wait(lock);
    lock.release();
  }

  // Waits until signalled or, at the latest, for `timeout`. Returns whether the time ran out.
  bool WaitWithTimeout(Mutex* mutex, absl::Duration timeout) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    // Forever is more than the clock can add; an hour is a wake like any other.
    timeout = std::min(timeout, absl::Hours(1));
    std::unique_lock<std::mutex> lock(mutex->mutex_, std::adopt_lock);
    // system_clock: the sanitizer does not see waits on the steady clock in this library version.
    const bool timed_out = cv_.wait_until(lock, std::chrono::system_clock::now() +
                                                    absl::ToChronoMicroseconds(timeout)) == std::cv_status::timeout;
    lock.release();
    return timed_out;
  }

  void Signal() { cv_.notify_one(); }
  void SignalAll() { cv_.notify_all(); }

 private:
  std::condition_variable cv_;
};

}  // namespace docket

#endif  // DOCKET_SERVICES_COMMON_MUTEX_H_
