#include "clients/cpp/call.h"

#include <algorithm>

#include "absl/random/random.h"
#include "absl/time/clock.h"
#include "services/common/backoff.h"
#include "services/common/errors.h"
#include "services/edge/channel.h"
#include "services/edge/grpc_status.h"

namespace docket::client {

bool IsRetryable(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
         (absl::IsResourceExhausted(status) && RetryAfterOf(status).has_value());
}

absl::Status CallPatiently(const CallOptions& options, absl::FunctionRef<grpc::Status(grpc::ClientContext&)> call) {
  const absl::Time give_up_at = absl::Now() + options.patience;
  Backoff backoff({.first = absl::Milliseconds(50), .longest = absl::Seconds(2)});
  absl::BitGen random;
  for (;;) {
    grpc::ClientContext context;
    const absl::Time try_until = absl::Now() + options.one_try;
    SetDeadline(context, options.patience == absl::ZeroDuration() ? try_until : std::min(give_up_at, try_until));
    const absl::Status status = FromGrpc(call(context));
    if (!IsRetryable(status)) return status;
    absl::Duration delay = backoff.Next();
    if (const auto asked = RetryAfterOf(status)) delay = std::max(delay, *asked * absl::Uniform(random, 1.0, 1.2));
    if (absl::Now() + delay >= give_up_at) return status;
    absl::SleepFor(delay);
  }
}

}  // namespace docket::client
