#ifndef DOCKET_SERVICES_COMMON_ERRORS_H_
#define DOCKET_SERVICES_COMMON_ERRORS_H_

#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "docket/v1/error_reason.pb.h"

// Statuses that carry why.
//
// A reason and its details are payloads of an absl::Status, one for each message type of google.rpc, under that type's
// URL
// ("type.googleapis.com/google.rpc.ErrorInfo"). The edge copies them to the wire and back unchanged.

namespace docket {

inline constexpr char kErrorDomain[] = "docket.dev";

using ErrorMetadata = std::map<std::string, std::string>;

// The gRPC code that `reason` always comes with.
absl::StatusCode CodeOf(v1::ErrorReason reason);

// The reason's name on the wire: "REVISION_CONFLICT".
std::string ReasonName(v1::ErrorReason reason);

// A status with CodeOf(reason), `message` and an ErrorInfo.
absl::Status MakeError(v1::ErrorReason reason, absl::string_view message, const ErrorMetadata& metadata = {});

// MakeError for a wrong field: also names it in a BadRequest and, as `path`, in the metadata. The message is "<field>:
// <description>".
absl::Status FieldError(v1::ErrorReason reason, absl::string_view field, absl::string_view description,
                        ErrorMetadata metadata = {});

// `status` with the fact added to its ErrorInfo.
absl::Status WithMetadata(absl::Status status, absl::string_view key, absl::string_view value);

// `status` with a RetryInfo.
absl::Status WithRetryAfter(absl::Status status, absl::Duration delay);

// `status` with one more violation in its PreconditionFailure.
absl::Status WithPreconditionViolation(absl::Status status, absl::string_view type, absl::string_view subject,
                                       absl::string_view description);

// What the payloads say; nothing if they say nothing.
std::optional<v1::ErrorReason> ReasonOf(const absl::Status& status);
ErrorMetadata MetadataOf(const absl::Status& status);
std::optional<absl::Duration> RetryAfterOf(const absl::Status& status);

}  // namespace docket

#endif  // DOCKET_SERVICES_COMMON_ERRORS_H_
