#ifndef DOCKET_SERVICES_COMMON_BACKOFF_H_
#define DOCKET_SERVICES_COMMON_BACKOFF_H_

#include <algorithm>

#include "absl/random/random.h"
#include "absl/time/time.h"

namespace docket {

// How long to wait before the next try: exponential with full jitter, so that many callers that failed together do not
// come back together. Not thread-safe.
class Backoff {
 public:
  struct Options {
    absl::Duration first = absl::Milliseconds(50);
    absl::Duration longest = absl::Seconds(5);
  };

  explicit Backoff(Options options) : options_(options), ceiling_(options.first) {}

  // The next delay: between a half and the whole of a ceiling that doubles up to `longest`.
  absl::Duration Next() {
    const absl::Duration delay = ceiling_ * absl::Uniform(random_, 0.5, 1.0);
    ceiling_ = std::min(ceiling_ * 2, options_.longest);
    return delay;
  }

  // After a success: the next delay is short again.
  void Reset() { ceiling_ = options_.first; }

 private:
  const Options options_;
  absl::Duration ceiling_;
  absl::BitGen random_;
};

}  // namespace docket

#endif  // DOCKET_SERVICES_COMMON_BACKOFF_H_
