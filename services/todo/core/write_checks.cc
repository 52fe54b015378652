#include "services/todo/core/write_checks.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "services/common/errors.h"
#include "services/common/list_rules.h"
#include "services/common/status_macros.h"

namespace docket::todo {
namespace {

using docket::v1::ERROR_REASON_INVALID_REQUEST;

// Those of SessionOpened and of Normalization.
constexpr size_t kMaxTitleBytes = 1 << 10;
constexpr size_t kMaxLabels = 64;
constexpr size_t kMaxLabelKeyBytes = 64;
constexpr size_t kMaxLabelValueBytes = 256;
constexpr int kMaxNormalizations = 1000;
constexpr size_t kMaxNormalizationBytes = 256;

absl::Status Invalid(absl::string_view field, absl::string_view text) {
  return FieldError(ERROR_REASON_INVALID_REQUEST, field, text);
}

absl::Status CheckText(absl::string_view field, absl::string_view text, size_t max_bytes) {
  if (text.size() > max_bytes) {
    return Invalid(field, absl::StrCat("it has ", text.size(), " bytes, at most ", max_bytes, " are allowed"));
  }
  if (!IsValidUtf8(text)) return Invalid(field, "it is not valid UTF-8");
  return absl::OkStatus();
}

absl::Status CheckOwnId(absl::string_view field, absl::string_view id, absl::string_view missing) {
  if (id.empty()) return Invalid(field, missing);
  return CheckId(ERROR_REASON_INVALID_REQUEST, field, id);
}

absl::Status CheckOpenSession(const v1::OpenSession& open) {
  DOCKET_RETURN_IF_ERROR(CheckText("open_session.title", open.title(), kMaxTitleBytes));
  if (open.labels().size() > kMaxLabels) {
    return Invalid("open_session.labels",
                   absl::StrCat("there are ", open.labels().size(), ", at most ", kMaxLabels, " are allowed"));
  }
  for (const auto& [key, value] : open.labels()) {
    if (key.empty()) return Invalid("open_session.labels", "a label has an empty key");
    DOCKET_RETURN_IF_ERROR(CheckText("open_session.labels", key, kMaxLabelKeyBytes));
    DOCKET_RETURN_IF_ERROR(CheckText(absl::StrCat("open_session.labels[", key, "]"), value, kMaxLabelValueBytes));
  }
  if (open.parent_session_id().empty()) return absl::OkStatus();
  return CheckId(ERROR_REASON_INVALID_REQUEST, "open_session.parent_session_id", open.parent_session_id());
}

absl::Status CheckNormalizations(const v1::WriteTodosRequest& request) {
  if (request.normalizations_size() > kMaxNormalizations) {
    return Invalid("normalizations", absl::StrCat("there are ", request.normalizations_size(), ", at most ",
                                                  kMaxNormalizations, " are allowed"));
  }
  for (int i = 0; i < request.normalizations_size(); ++i) {
    const v1::Normalization& made = request.normalizations(i);
    const std::string path = absl::StrCat("normalizations[", i, "]");
    if (made.kind() == v1::NORMALIZATION_KIND_UNSPECIFIED || !v1::NormalizationKind_IsValid(made.kind())) {
      return Invalid(absl::StrCat(path, ".kind"), "it is no known kind");
    }
    DOCKET_RETURN_IF_ERROR(CheckText(absl::StrCat(path, ".path"), made.path(), kMaxNormalizationBytes));
    DOCKET_RETURN_IF_ERROR(CheckText(absl::StrCat(path, ".original"), made.original(), kMaxNormalizationBytes));
  }
  return absl::OkStatus();
}

absl::Status SessionError(docket::v1::ErrorReason reason, absl::string_view text,
                          const v1::WriteTodosRequest& request) {
  return MakeError(reason, text, {{"session_id", request.session_id()}, {"agent_id", request.agent_id()}});
}

}  // namespace

v1::ActorKind ActorKindOf(const v1::WriteTodosRequest& request) {
  return request.actor().kind() == v1::ACTOR_KIND_UNSPECIFIED ? v1::ACTOR_KIND_AGENT : request.actor().kind();
}

bool SpeaksForModel(v1::ActorKind kind) {
  return kind == v1::ACTOR_KIND_AGENT || kind == v1::ACTOR_KIND_HOOK || kind == v1::ACTOR_KIND_IMPORT;
}

absl::Status CheckRequest(const v1::WriteTodosRequest& request) {
  DOCKET_RETURN_IF_ERROR(CheckOwnId("tenant_id", request.tenant_id(), "the tenant is missing; it has no default"));
  DOCKET_RETURN_IF_ERROR(CheckOwnId("session_id", request.session_id(), "the session is missing; it has no default"));
  DOCKET_RETURN_IF_ERROR(CheckOwnId("agent_id", request.agent_id(),
                                    "the agent is missing; it has no default: the session's own agent is `main`"));
  DOCKET_RETURN_IF_ERROR(CheckOwnId("call_id", request.call_id(),
                                    "the call id is missing; it names the write, so that a retry is recognised"));
  if (!v1::WriteMode_IsValid(request.mode())) {
    return Invalid("mode", "it is no known mode; allowed: WRITE_MODE_REPLACE, WRITE_MODE_MERGE");
  }
  if (request.expected_version() < 0) return Invalid("expected_version", "it is negative; allowed: 0 and more");
  if (!v1::ActorKind_IsValid(request.actor().kind())) {
    return Invalid("actor.kind", "it is no known kind; allowed: AGENT, USER, HOOK, IMPORT, SYSTEM");
  }
  DOCKET_RETURN_IF_ERROR(CheckText("actor.name", request.actor().name(), kMaxIdBytes));
  DOCKET_RETURN_IF_ERROR(CheckText("tool", request.tool(), kMaxIdBytes));
  if (request.has_open_session()) DOCKET_RETURN_IF_ERROR(CheckOpenSession(request.open_session()));
  return CheckNormalizations(request);
}

absl::Status CheckOwner(const v1::WriteTodosRequest& request, const SessionFold* fold, const Policy& policy) {
  const bool exists = fold != nullptr && fold->state() != log::v1::SESSION_STATE_UNSPECIFIED;
  if (!exists && !request.has_open_session()) {
    return SessionError(docket::v1::ERROR_REASON_SESSION_NOT_FOUND,
                        "there is no such session; open it first, or with `open_session`", request);
  }
  if (exists && fold->state() == log::v1::SESSION_STATE_ERASED) {
    return SessionError(docket::v1::ERROR_REASON_SESSION_ERASED, "the session was erased", request);
  }
  if (exists && fold->state() == log::v1::SESSION_STATE_CLOSED) {
    return SessionError(docket::v1::ERROR_REASON_SESSION_CLOSED, "the session is closed; reopen it first", request);
  }
  const PlanFold* agent = exists ? fold->FindAgent(request.agent_id()) : nullptr;
  if (agent == nullptr && request.agent_id() != kMainAgent) {
    return SessionError(docket::v1::ERROR_REASON_AGENT_UNKNOWN,
                        "the session has no such agent; an agent is spawned before it writes", request);
  }
  const bool open_turn = agent != nullptr && agent->HasOpenTurn();
  if (SpeaksForModel(ActorKindOf(request)) && !open_turn && !policy.implicit_turns()) {
    return SessionError(docket::v1::ERROR_REASON_NO_OPEN_TURN,
                        "the agent has no open turn, and the policy opens none by itself; start a turn first", request);
  }
  return absl::OkStatus();
}

absl::Status CheckExpectedVersion(const v1::WriteTodosRequest& request, const SessionFold* fold) {
  if (!request.has_expected_version()) return absl::OkStatus();
  const PlanFold* agent = fold == nullptr ? nullptr : fold->FindAgent(request.agent_id());
  const int64_t version = agent == nullptr ? 0 : agent->list_seq;
  if (version <= request.expected_version()) return absl::OkStatus();
  return MakeError(docket::v1::ERROR_REASON_REVISION_CONFLICT,
                   absl::StrCat("the list was written since: its version is ", version, ", expected was ",
                                request.expected_version(), "; read the plan again, then decide"),
                   {{"expected", absl::StrCat(request.expected_version())}, {"actual", absl::StrCat(version)}});
}

}  // namespace docket::todo
