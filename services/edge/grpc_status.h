#ifndef DOCKET_SERVICES_EDGE_GRPC_STATUS_H_
#define DOCKET_SERVICES_EDGE_GRPC_STATUS_H_

#include <cstddef>

#include "absl/status/status.h"
#include "google/rpc/status.pb.h"
#include "grpcpp/support/status.h"

// The one translator between statuses inside (services/common/errors.h) and on the wire.

namespace docket {

// A message is cut to this many bytes, between two characters.
inline constexpr size_t kMaxStatusMessage = 1024;

// The trailers of a call hold about 8 KiB; google.rpc.Status takes at most this of it.
inline constexpr size_t kMaxStatusDetails = 4096;

// `status` with its google.rpc payloads, ErrorInfo first. Other payloads stay inside. Bytes of a message that is not
// valid UTF-8 become "?".
google::rpc::Status ToRpcStatus(const absl::Status& status);

// The reverse. A code that gRPC does not define becomes UNKNOWN; details that are not google.rpc's are dropped.
absl::Status FromRpcStatus(const google::rpc::Status& status);

// `status` with ToRpcStatus() in its details. Where that is larger than kMaxStatusDetails, details other than ErrorInfo
// and RetryInfo go first, then the metadata of ErrorInfo.
grpc::Status ToGrpc(const absl::Status& status);

// The reverse. Details that do not parse or have another code than the call are dropped.
absl::Status FromGrpc(const grpc::Status& status);

}  // namespace docket

#endif  // DOCKET_SERVICES_EDGE_GRPC_STATUS_H_
