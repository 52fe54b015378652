#ifndef DOCKET_CLIENTS_CPP_CALL_H_
#define DOCKET_CLIENTS_CPP_CALL_H_

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/status.h"

namespace docket::client {

struct CallOptions {
  // For all tries together. 0: one try.
  absl::Duration patience = absl::Seconds(30);
  // For one try: a server that hangs is left for the next.
  absl::Duration one_try = absl::Seconds(10);
};

// Whether the same request may be sent again: the server is away, draining or busy, or has not answered in time. Every
// mutating request of Docket carries ids that make a repeat harmless.
bool IsRetryable(const absl::Status& status);

// Makes a call, again and again with the same request while the failure may pass, waiting as the server asks or, if it
// does not, ever longer and never in step with others. Returns the last failure when the patience is at its end.
// `call` must start from nothing each time. Blocks.
absl::Status CallPatiently(const CallOptions& options, absl::FunctionRef<grpc::Status(grpc::ClientContext&)> call);

}  // namespace docket::client

#endif  // DOCKET_CLIENTS_CPP_CALL_H_
