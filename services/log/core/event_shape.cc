#include "services/log/core/event_shape.h"

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/unknown_field_set.h"
#include "services/common/errors.h"
#include "services/common/event_id.h"
#include "services/common/list_rules.h"
#include "services/common/status_macros.h"
#include "services/log/core/limits.h"

namespace docket::log {
namespace {

using docket::v1::ERROR_REASON_INVALID_EVENT;
using docket::v1::ERROR_REASON_INVALID_REQUEST;
using Labels = google::protobuf::Map<std::string, std::string>;

absl::Status Invalid(absl::string_view path, absl::string_view text, absl::string_view allowed = "") {
  ErrorMetadata metadata;
  if (!allowed.empty()) metadata["allowed"] = std::string(allowed);
  return FieldError(ERROR_REASON_INVALID_EVENT, path, text, metadata);
}

absl::Status CheckLength(absl::string_view path, const std::string& text, size_t limit) {
  if (text.size() <= limit) return absl::OkStatus();
  return Invalid(path, absl::StrCat("the text has ", text.size(), " bytes, at most ", limit, " are allowed"),
                 absl::StrCat("at most ", limit, " bytes"));
}

absl::Status CheckEnum(absl::string_view path, int value, int last, absl::string_view allowed) {
  if (value >= 1 && value <= last) return absl::OkStatus();
  return Invalid(path, absl::StrCat("the value must be one of: ", allowed), allowed);
}

absl::Status CheckLabels(absl::string_view path, const Labels& labels) {
  if (static_cast<int>(labels.size()) > kMaxLabels) {
    return Invalid(path, absl::StrCat("there are ", labels.size(), " labels, at most ", kMaxLabels, " are allowed"));
  }
  for (const auto& [key, value] : labels) {
    if (key.empty() || key.size() > kMaxLabelKeyBytes)
      return Invalid(path, absl::StrCat("a label's key has 1-", kMaxLabelKeyBytes, " bytes"));
    if (value.size() > kMaxLabelValueBytes)
      return Invalid(path, absl::StrCat("a label's value has at most ", kMaxLabelValueBytes, " bytes"));
    if (FindControlCharacter(key) != absl::string_view::npos ||
        FindControlCharacter(value) != absl::string_view::npos) {
      return Invalid(path, "a label has a control character");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckOptionalId(absl::string_view path, const std::string& id) {
  return id.empty() ? absl::OkStatus() : CheckId(ERROR_REASON_INVALID_EVENT, path, id);
}

absl::Status CheckOpened(const std::string& path, const v1::SessionOpened& opened) {
  DOCKET_RETURN_IF_ERROR(CheckLength(path + ".title", opened.title(), kMaxTitleBytes));
  DOCKET_RETURN_IF_ERROR(CheckLabels(path + ".labels", opened.labels()));
  DOCKET_RETURN_IF_ERROR(CheckOptionalId(path + ".parent_session_id", opened.parent_session_id()));
  if (opened.has_continues()) {
    DOCKET_RETURN_IF_ERROR(
        CheckId(ERROR_REASON_INVALID_EVENT, path + ".continues.session_id", opened.continues().session_id()));
  }
  if (opened.has_forked_from()) {
    DOCKET_RETURN_IF_ERROR(
        CheckId(ERROR_REASON_INVALID_EVENT, path + ".forked_from.session_id", opened.forked_from().session_id()));
  }
  return absl::OkStatus();
}

absl::Status CheckUpdated(const std::string& path, const v1::SessionUpdated& updated) {
  DOCKET_RETURN_IF_ERROR(CheckLength(path + ".title", updated.title(), kMaxTitleBytes));
  if (updated.remove_labels_size() > kMaxLabels)
    return Invalid(path + ".remove_labels", absl::StrCat("at most ", kMaxLabels, " keys are allowed"));
  return CheckLabels(path + ".set_labels", updated.set_labels());
}

absl::Status CheckTurn(const std::string& path, const v1::SessionEvent& event) {
  if (event.has_turn_started()) {
    const auto& started = event.turn_started();
    DOCKET_RETURN_IF_ERROR(CheckId(ERROR_REASON_INVALID_EVENT, path + ".turn_started.turn_id", started.turn_id()));
    DOCKET_RETURN_IF_ERROR(CheckOptionalId(path + ".turn_started.supersedes", started.supersedes()));
    return CheckEnum(path + ".turn_started.origin", started.origin(), docket::v1::TURN_ORIGIN_IMPLICIT,
                     "USER, SUBAGENT, IMPLICIT");
  }
  const auto& ended = event.turn_ended();
  DOCKET_RETURN_IF_ERROR(CheckId(ERROR_REASON_INVALID_EVENT, path + ".turn_ended.turn_id", ended.turn_id()));
  DOCKET_RETURN_IF_ERROR(CheckLength(path + ".turn_ended.message", ended.message(), 4 << 10));
  return CheckEnum(path + ".turn_ended.reason", ended.reason(), docket::v1::TURN_END_REASON_INTERRUPTED,
                   "COMPLETED, FAILED, INTERRUPTED");
}

absl::Status CheckTodo(const std::string& path, const todo::v1::TodoWritten& written) {
  DOCKET_RETURN_IF_ERROR(CheckList(docket::v1::ERROR_REASON_INVALID_TODO, written.items(), path + ".items"));
  DOCKET_RETURN_IF_ERROR(CheckOptionalId(path + ".call_id", written.call_id()));
  DOCKET_RETURN_IF_ERROR(CheckLength(path + ".actor.name", written.actor().name(), kMaxIdBytes));
  return CheckEnum(path + ".actor.kind", written.actor().kind(), todo::v1::ACTOR_KIND_SYSTEM,
                   "AGENT, USER, HOOK, IMPORT, SYSTEM");
}

absl::Status CheckContent(const std::string& path, const v1::SessionEvent& event) {
  switch (event.event_case()) {
    case v1::SessionEvent::kSessionOpened:
      return CheckOpened(path + ".session_opened", event.session_opened());
    case v1::SessionEvent::kSessionUpdated:
      return CheckUpdated(path + ".session_updated", event.session_updated());
    case v1::SessionEvent::kSessionClosed:
      return CheckLength(path + ".session_closed.reason", event.session_closed().reason(), 1 << 10);
    case v1::SessionEvent::kAgentSpawned:
      DOCKET_RETURN_IF_ERROR(CheckId(ERROR_REASON_INVALID_EVENT, path + ".agent_spawned.parent_agent_id",
                                     event.agent_spawned().parent_agent_id()));
      DOCKET_RETURN_IF_ERROR(CheckOptionalId(path + ".agent_spawned.call_id", event.agent_spawned().call_id()));
      return CheckLength(path + ".agent_spawned.display_name", event.agent_spawned().display_name(), kMaxTitleBytes);
    case v1::SessionEvent::kTurnStarted:
    case v1::SessionEvent::kTurnEnded:
      return CheckTurn(path, event);
    case v1::SessionEvent::kMessage:
      return CheckEnum(path + ".message.role", event.message().role(), v1::MESSAGE_ROLE_ASSISTANT,
                       "SYSTEM, USER, ASSISTANT");
    case v1::SessionEvent::kToolCall:
      DOCKET_RETURN_IF_ERROR(CheckId(ERROR_REASON_INVALID_EVENT, path + ".tool_call.tool", event.tool_call().tool()));
      return CheckId(ERROR_REASON_INVALID_EVENT, path + ".tool_call.call_id", event.tool_call().call_id());
    case v1::SessionEvent::kToolResult:
      return CheckId(ERROR_REASON_INVALID_EVENT, path + ".tool_result.call_id", event.tool_result().call_id());
    case v1::SessionEvent::kTodoWritten:
      return CheckTodo(path + ".todo_written", event.todo_written());
    case v1::SessionEvent::kTodoRejected:
      return CheckLength(path + ".todo_rejected.raw_input", event.todo_rejected().raw_input(), 4 << 10);
    default:
      return absl::OkStatus();
  }
}

absl::Status CheckAgentId(const std::string& path, const v1::SessionEvent& event, int32_t type) {
  const bool own = type >= v1::EVENT_TYPE_SESSION_OPENED && type <= v1::EVENT_TYPE_SESSION_ERASED;
  if (own && !event.agent_id().empty())
    return Invalid(path + ".agent_id", "a session's own event has no agent", "empty");
  const bool known = event.event_case() != v1::SessionEvent::EVENT_NOT_SET && !event.has_custom();
  if (event.agent_id().empty() && (own || !known)) return absl::OkStatus();
  return CheckId(ERROR_REASON_INVALID_EVENT, path + ".agent_id", event.agent_id());
}

absl::Status CheckEvent(const std::string& path, const v1::SessionEvent& event) {
  const size_t bytes = event.ByteSizeLong();
  if (bytes > kMaxEventBytes) {
    return FieldError(docket::v1::ERROR_REASON_EVENT_TOO_LARGE, path,
                      absl::StrCat("the event has ", bytes, " bytes, at most ", kMaxEventBytes, " are allowed"),
                      {{"bytes", absl::StrCat(bytes)}, {"limit_bytes", absl::StrCat(kMaxEventBytes)}});
  }
  if (!EventId::Parse(event.event_id()).has_value()) {
    return Invalid(path + ".event_id", "the id must be a UUID of 36 lower-case characters",
                   "a UUID of 36 lower-case characters");
  }
  const int32_t type = TypeOf(event);
  if (type == 0) return Invalid(path + ".event", "the event has no content", "exactly one of the event map's fields");
  DOCKET_RETURN_IF_ERROR(CheckLength(path + ".content_digest", event.content_digest(), kMaxContentDigestBytes));
  DOCKET_RETURN_IF_ERROR(CheckAgentId(path, event, type));
  if (event.attributes_size() > kMaxAttributes)
    return Invalid(path + ".attributes", absl::StrCat("at most ", kMaxAttributes, " attributes are allowed"));
  for (const auto& [key, value] : event.attributes()) {
    DOCKET_RETURN_IF_ERROR(CheckLength(path + ".attributes", key, kMaxAttributeKeyBytes));
    DOCKET_RETURN_IF_ERROR(CheckLength(path + ".attributes", value, kMaxAttributeValueBytes));
  }
  return CheckContent(path, event);
}

absl::Status CheckPreconditions(const v1::AppendRequest& request) {
  if (request.preconditions_size() > kMaxPreconditions) {
    return FieldError(ERROR_REASON_INVALID_REQUEST, "preconditions",
                      absl::StrCat("at most ", kMaxPreconditions, " are allowed"));
  }
  for (int i = 0; i < request.preconditions_size(); ++i) {
    const auto& condition = request.preconditions(i);
    const std::string path = absl::StrCat("preconditions[", i, "]");
    if (condition.condition_case() == v1::Precondition::CONDITION_NOT_SET) {
      return FieldError(ERROR_REASON_INVALID_REQUEST, path, "no condition is given",
                        {{"allowed", "no_session, head_seq, latest_seq"}});
    }
    if (condition.has_head_seq() && condition.head_seq().seq() < 1) {
      return FieldError(ERROR_REASON_INVALID_REQUEST, path + ".head_seq.seq", "the seq must be at least 1",
                        {{"allowed", "1 and more"}});
    }
    if (!condition.has_latest_seq()) continue;
    const auto& latest = condition.latest_seq();
    if (latest.types().empty() || latest.types_size() > kMaxPreconditionTypes) {
      return FieldError(ERROR_REASON_INVALID_REQUEST, path + ".latest_seq.types",
                        absl::StrCat("1-", kMaxPreconditionTypes, " types must be given"));
    }
    if (latest.seq() < 0) {
      return FieldError(ERROR_REASON_INVALID_REQUEST, path + ".latest_seq.seq", "the seq must be at least 0",
                        {{"allowed", "0 and more"}});
    }
  }
  return absl::OkStatus();
}

}  // namespace

int32_t TypeOf(const v1::SessionEvent& event) {
  if (event.event_case() != v1::SessionEvent::EVENT_NOT_SET) return event.event_case();
  const auto& unknown = v1::SessionEvent::GetReflection()->GetUnknownFields(event);
  for (int i = 0; i < unknown.field_count(); ++i) {
    const int number = unknown.field(i).number();
    if (number >= kFirstEventType && number <= kLastEventType) return number;
  }
  return 0;
}

std::string PayloadOf(const v1::SessionEvent& event) {
  std::string payload;
  {
    google::protobuf::io::StringOutputStream stream(&payload);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);  // maps have no order of their own
    event.SerializeToCodedStream(&coded);
  }
  return payload;
}

absl::Status CheckAppendShape(const v1::AppendRequest& request) {
  DOCKET_RETURN_IF_ERROR(CheckId(ERROR_REASON_INVALID_REQUEST, "tenant_id", request.tenant_id()));
  DOCKET_RETURN_IF_ERROR(CheckId(ERROR_REASON_INVALID_REQUEST, "session_id", request.session_id()));
  if (request.events().empty()) {
    return FieldError(ERROR_REASON_INVALID_REQUEST, "events", "at least one event is needed",
                      {{"allowed", absl::StrCat("1-", kMaxRequestEvents, " events")}});
  }
  if (request.events_size() > kMaxRequestEvents) {
    return FieldError(
        docket::v1::ERROR_REASON_REQUEST_TOO_LARGE, "events",
        absl::StrCat("the request has ", request.events_size(), " events, at most ", kMaxRequestEvents, " are allowed"),
        {{"events", absl::StrCat(request.events_size())}, {"limit_events", absl::StrCat(kMaxRequestEvents)}});
  }
  DOCKET_RETURN_IF_ERROR(CheckPreconditions(request));
  size_t bytes = 0;
  absl::flat_hash_set<absl::string_view> ids;
  for (int i = 0; i < request.events_size(); ++i) {
    const std::string path = absl::StrCat("events[", i, "]");
    DOCKET_RETURN_IF_ERROR(CheckEvent(path, request.events(i)));
    bytes += request.events(i).ByteSizeLong();
    if (!ids.insert(request.events(i).event_id()).second) {
      return Invalid(path + ".event_id", "an event before has the same id", "ids that differ within the request");
    }
  }
  if (bytes > kMaxRequestBytes) {
    return FieldError(docket::v1::ERROR_REASON_REQUEST_TOO_LARGE, "events",
                      absl::StrCat("the events have ", bytes, " bytes, at most ", kMaxRequestBytes, " are allowed"),
                      {{"bytes", absl::StrCat(bytes)}, {"limit_bytes", absl::StrCat(kMaxRequestBytes)}});
  }
  return absl::OkStatus();
}

absl::Status CheckTypes(const google::protobuf::RepeatedField<int>& types) {
  if (types.size() > kMaxFilterTypes) {
    return FieldError(docket::v1::ERROR_REASON_INVALID_REQUEST, "types",
                      absl::StrCat("at most ", kMaxFilterTypes, " types are allowed"));
  }
  for (int i = 0; i < types.size(); ++i) {
    if (types[i] < kFirstEventType || types[i] > kLastEventType) {
      return FieldError(docket::v1::ERROR_REASON_INVALID_REQUEST, absl::StrCat("types[", i, "]"),
                        "there are no events of such a type");
    }
  }
  return absl::OkStatus();
}

}  // namespace docket::log
