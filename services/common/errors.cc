#include "services/common/errors.h"

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "google/rpc/error_details.pb.h"

namespace docket {
namespace {

constexpr absl::string_view kReasonPrefix = "ERROR_REASON_";

template <typename Message>
std::string UrlOf() {
  return absl::StrCat("type.googleapis.com/", Message::descriptor()->full_name());
}

template <typename Message>
std::optional<Message> Payload(const absl::Status& status) {
  auto cord = status.GetPayload(UrlOf<Message>());
  Message message;
  if (!cord.has_value() || !message.ParseFromString(std::string(*cord))) return std::nullopt;
  return message;
}

template <typename Message>
void SetPayload(absl::Status& status, const Message& message) {
  status.SetPayload(UrlOf<Message>(), absl::Cord(message.SerializeAsString()));
}

}  // namespace

absl::StatusCode CodeOf(v1::ErrorReason reason) {
  switch (reason) {
    case v1::ERROR_REASON_INVALID_EVENT:
    case v1::ERROR_REASON_INVALID_TODO:
    case v1::ERROR_REASON_INVALID_REQUEST:
    case v1::ERROR_REASON_EVENT_TOO_LARGE:
    case v1::ERROR_REASON_REQUEST_TOO_LARGE:
    case v1::ERROR_REASON_TOKEN_INVALID:
    case v1::ERROR_REASON_EVENT_ID_REUSED:
    case v1::ERROR_REASON_CALL_ID_REUSED:
    case v1::ERROR_REASON_TODO_RULE:
      return absl::StatusCode::kInvalidArgument;
    case v1::ERROR_REASON_REVISION_CONFLICT:
    case v1::ERROR_REASON_LOG_TRUNCATED:
      return absl::StatusCode::kAborted;
    case v1::ERROR_REASON_NO_OPEN_TURN:
    case v1::ERROR_REASON_TURN_OPEN:
    case v1::ERROR_REASON_AGENT_UNKNOWN:
    case v1::ERROR_REASON_SESSION_CLOSED:
    case v1::ERROR_REASON_SESSION_ERASED:
    case v1::ERROR_REASON_PARTIAL_DUPLICATE:
    case v1::ERROR_REASON_TODO_DISABLED:
    case v1::ERROR_REASON_WATCH_TOO_WIDE:
      return absl::StatusCode::kFailedPrecondition;
    case v1::ERROR_REASON_SESSION_NOT_FOUND:
    case v1::ERROR_REASON_PLAN_NOT_FOUND:
      return absl::StatusCode::kNotFound;
    case v1::ERROR_REASON_POSITION_IN_FUTURE:
      return absl::StatusCode::kOutOfRange;
    case v1::ERROR_REASON_TENANT_QUOTA:
    case v1::ERROR_REASON_QUEUE_FULL:
      return absl::StatusCode::kResourceExhausted;
    case v1::ERROR_REASON_STORE_UNAVAILABLE:
    case v1::ERROR_REASON_LOG_UNAVAILABLE:
    case v1::ERROR_REASON_DRAINING:
    case v1::ERROR_REASON_COMMIT_UNKNOWN:
    case v1::ERROR_REASON_NOT_CAUGHT_UP:
      return absl::StatusCode::kUnavailable;
    case v1::ERROR_REASON_CREDENTIAL_INVALID:
    case v1::ERROR_REASON_CREDENTIAL_EXPIRED:
      return absl::StatusCode::kUnauthenticated;
    case v1::ERROR_REASON_SCOPE_MISSING:
    case v1::ERROR_REASON_TENANT_MISMATCH:
    case v1::ERROR_REASON_AGENT_MISMATCH:
      return absl::StatusCode::kPermissionDenied;
    default:
      return absl::StatusCode::kInternal;
  }
}

std::string ReasonName(v1::ErrorReason reason) {
  return std::string(absl::StripPrefix(v1::ErrorReason_Name(reason), kReasonPrefix));
}

absl::Status MakeError(v1::ErrorReason reason, absl::string_view message, const ErrorMetadata& metadata) {
  absl::Status status(CodeOf(reason), message);
  google::rpc::ErrorInfo info;
  info.set_reason(ReasonName(reason));
  info.set_domain(kErrorDomain);
  for (const auto& [key, value] : metadata) (*info.mutable_metadata())[key] = value;
  SetPayload(status, info);
  return status;
}

absl::Status FieldError(v1::ErrorReason reason, absl::string_view field, absl::string_view description,
                        ErrorMetadata metadata) {
  metadata.emplace("path", std::string(field));
  absl::Status status = MakeError(reason, absl::StrCat(field, ": ", description), metadata);
  google::rpc::BadRequest bad;
  auto* violation = bad.add_field_violations();
  violation->set_field(std::string(field));
  violation->set_description(std::string(description));
  SetPayload(status, bad);
  return status;
}

absl::Status WithMetadata(absl::Status status, absl::string_view key, absl::string_view value) {
  auto info = Payload<google::rpc::ErrorInfo>(status).value_or(google::rpc::ErrorInfo());
  info.set_domain(kErrorDomain);
  (*info.mutable_metadata())[std::string(key)] = std::string(value);
  SetPayload(status, info);
  return status;
}

absl::Status WithRetryAfter(absl::Status status, absl::Duration delay) {
  google::rpc::RetryInfo info;
  const int64_t nanos = absl::ToInt64Nanoseconds(delay);
  info.mutable_retry_delay()->set_seconds(nanos / 1'000'000'000);
  info.mutable_retry_delay()->set_nanos(static_cast<int32_t>(nanos % 1'000'000'000));
  SetPayload(status, info);
  return status;
}

absl::Status WithPreconditionViolation(absl::Status status, absl::string_view type, absl::string_view subject,
                                       absl::string_view description) {
  auto failure = Payload<google::rpc::PreconditionFailure>(status).value_or(google::rpc::PreconditionFailure());
  auto* violation = failure.add_violations();
  violation->set_type(std::string(type));
  violation->set_subject(std::string(subject));
  violation->set_description(std::string(description));
  SetPayload(status, failure);
  return status;
}

std::optional<v1::ErrorReason> ReasonOf(const absl::Status& status) {
  auto info = Payload<google::rpc::ErrorInfo>(status);
  v1::ErrorReason reason;
  if (!info.has_value() || info->domain() != kErrorDomain ||
      !v1::ErrorReason_Parse(absl::StrCat(kReasonPrefix, info->reason()), &reason)) {
    return std::nullopt;
  }
  return reason;
}

ErrorMetadata MetadataOf(const absl::Status& status) {
  auto info = Payload<google::rpc::ErrorInfo>(status);
  if (!info.has_value()) return {};
  return ErrorMetadata(info->metadata().begin(), info->metadata().end());
}

std::optional<absl::Duration> RetryAfterOf(const absl::Status& status) {
  auto info = Payload<google::rpc::RetryInfo>(status);
  if (!info.has_value()) return std::nullopt;
  return absl::Seconds(info->retry_delay().seconds()) + absl::Nanoseconds(info->retry_delay().nanos());
}

}  // namespace docket
