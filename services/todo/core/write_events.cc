#include "services/todo/core/write_events.h"

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/util/json_util.h"
#include "services/common/errors.h"
#include "services/common/list_rules.h"
#include "services/common/sha256.h"
#include "services/todo/core/todo_text.h"

namespace docket::todo {
namespace {

// The limits of TodoRejected.
constexpr size_t kMaxRawInputBytes = 4 << 10;
constexpr size_t kMaxMessageBytes = 1 << 10;

EventId IdOf(absl::string_view session_id, absl::string_view agent_id, absl::string_view call_id,
             absl::string_view what, absl::string_view digest = "") {
  return EventId::FromHash(Sha256OfParts({"docket todo", session_id, agent_id, call_id, what, digest}));
}

EventId IdOf(const v1::WriteTodosRequest& request, absl::string_view what, absl::string_view digest = "") {
  return IdOf(request.session_id(), request.agent_id(), request.call_id(), what, digest);
}

log::v1::AppendRequest AppendTo(const v1::WriteTodosRequest& request) {
  log::v1::AppendRequest append;
  append.set_tenant_id(request.tenant_id());
  append.set_session_id(request.session_id());
  return append;
}

log::v1::SessionEvent& AddEvent(log::v1::AppendRequest& append, EventId id, absl::string_view digest) {
  log::v1::SessionEvent& event = *append.add_events();
  event.set_event_id(id.ToString());
  event.set_content_digest(std::string(digest));
  return event;
}

void AddOpening(const v1::WriteTodosRequest& request, absl::string_view digest, log::v1::AppendRequest& append) {
  log::v1::SessionOpened& opened = *AddEvent(append, IdOf(request, "session opened"), digest).mutable_session_opened();
  opened.set_title(request.open_session().title());
  *opened.mutable_labels() = request.open_session().labels();
  opened.set_parent_session_id(request.open_session().parent_session_id());
}

void AddImplicitTurn(const v1::WriteTodosRequest& request, absl::string_view digest, log::v1::AppendRequest& append) {
  const EventId id = IdOf(request, "turn started");
  log::v1::SessionEvent& event = AddEvent(append, id, digest);
  event.set_agent_id(request.agent_id());
  event.mutable_turn_started()->set_turn_id("implicit-" + id.ToString());
  event.mutable_turn_started()->set_origin(docket::v1::TURN_ORIGIN_IMPLICIT);
}

log::v1::Precondition::LatestSeq& AddLatestSeq(const v1::WriteTodosRequest& request, log::v1::AppendRequest& append) {
  log::v1::Precondition::LatestSeq& latest = *append.add_preconditions()->mutable_latest_seq();
  latest.set_agent_id(request.agent_id());
  latest.add_types(log::v1::EVENT_TYPE_TODO_WRITTEN);
  latest.add_types(log::v1::EVENT_TYPE_TURN_STARTED);
  return latest;
}

bool Exists(const SessionFold* fold) {
  return fold != nullptr && fold->state() != log::v1::SESSION_STATE_UNSPECIFIED;
}

bool NeedsTurn(const v1::WriteTodosRequest& request, const SessionFold* fold, const Policy& policy) {
  if (!policy.implicit_turns() || !SpeaksForModel(ActorKindOf(request))) return false;
  const PlanFold* agent = fold == nullptr ? nullptr : fold->FindAgent(request.agent_id());
  return agent == nullptr || !agent->HasOpenTurn();
}

// What the writer had sent, as JSON where that can say it, cut at the limit.
std::string RawInput(const v1::WriteTodosRequest& request) {
  std::string raw = "[";
  for (int i = 0; i < request.items_size() && raw.size() <= kMaxRawInputBytes; ++i) {
    const v1::TodoItemInput& item = request.items(i);
    if (i > 0) raw += ",";
    std::string json;
    const bool is_text = IsValidUtf8(item.id()) && IsValidUtf8(item.content()) && IsValidUtf8(item.active_form()) &&
                         IsValidUtf8(item.priority());
    if (is_text && google::protobuf::util::MessageToJsonString(item, &json).ok()) {
      raw += json;
    } else {
      raw += item.content();
    }
  }
  raw += "]";
  return std::string(CutUtf8(raw, kMaxRawInputBytes));
}

std::string ValueOf(const ErrorMetadata& metadata, const std::string& key) {
  const auto found = metadata.find(key);
  return found == metadata.end() ? "" : found->second;
}

}  // namespace

EventId TodoEventId(absl::string_view session_id, absl::string_view agent_id, absl::string_view call_id) {
  return IdOf(session_id, agent_id, call_id, "todo written");
}

std::string RequestDigest(const v1::WriteTodosRequest& request) {
  v1::WriteTodosRequest asked;
  asked.set_mode(request.mode() == v1::WRITE_MODE_MERGE ? v1::WRITE_MODE_MERGE : v1::WRITE_MODE_REPLACE);
  *asked.mutable_items() = request.items();
  if (request.has_expected_version()) asked.set_expected_version(request.expected_version());
  *asked.mutable_actor() = request.actor();
  asked.mutable_actor()->set_kind(ActorKindOf(request));
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    asked.SerializePartialToCodedStream(&coded);
  }
  return Sha256(bytes);
}

log::v1::AppendRequest WriteRequest(const v1::WriteTodosRequest& request, const JudgedWrite& judged,
                                    const SessionFold* fold, const Policy& policy) {
  const std::string digest = RequestDigest(request);
  log::v1::AppendRequest append = AppendTo(request);
  if (Exists(fold)) {
    AddLatestSeq(request, append).set_seq(judged.judged_seq);
  } else {
    append.add_preconditions()->mutable_no_session();
    AddOpening(request, digest, append);
  }
  if (NeedsTurn(request, fold, policy)) AddImplicitTurn(request, digest, append);
  const EventId id = TodoEventId(request.session_id(), request.agent_id(), request.call_id());
  log::v1::SessionEvent& event = AddEvent(append, id, digest);
  event.set_agent_id(request.agent_id());
  *event.mutable_todo_written() = judged.todo;
  return append;
}

log::v1::AppendRequest ProbeRequest(const v1::WriteTodosRequest& request) {
  log::v1::AppendRequest append = AppendTo(request);
  // No event has this seq, so what is not known already is refused.
  AddLatestSeq(request, append).set_seq(std::numeric_limits<int64_t>::max());
  const EventId id = TodoEventId(request.session_id(), request.agent_id(), request.call_id());
  log::v1::SessionEvent& event = AddEvent(append, id, RequestDigest(request));
  event.set_agent_id(request.agent_id());
  v1::TodoWritten& todo = *event.mutable_todo_written();
  todo.set_call_id(request.call_id());
  todo.mutable_actor()->set_kind(ActorKindOf(request));
  todo.set_cause(v1::WRITE_CAUSE_WRITE);
  todo.set_mode(v1::WRITE_MODE_REPLACE);
  return append;
}

absl::Status FromAppendError(const v1::WriteTodosRequest& request, const absl::Status& status) {
  if (ReasonOf(status) != docket::v1::ERROR_REASON_EVENT_ID_REUSED) return status;
  ErrorMetadata metadata = {{"call_id", request.call_id()}};
  if (const std::string seq = ValueOf(MetadataOf(status), "seq"); !seq.empty()) metadata["seq"] = seq;
  return MakeError(docket::v1::ERROR_REASON_CALL_ID_REUSED,
                   "this agent has used the call id for another write; give each write a call id of its own", metadata);
}

bool IsRecordedRefusal(const absl::Status& refusal) {
  const auto reason = ReasonOf(refusal);
  return reason == docket::v1::ERROR_REASON_INVALID_TODO || reason == docket::v1::ERROR_REASON_TODO_RULE ||
         reason == docket::v1::ERROR_REASON_TODO_DISABLED;
}

log::v1::AppendRequest RejectedRequest(const v1::WriteTodosRequest& request, const absl::Status& refusal) {
  const std::string digest = RequestDigest(request);
  const ErrorMetadata metadata = MetadataOf(refusal);
  log::v1::AppendRequest append = AppendTo(request);
  log::v1::SessionEvent& event = AddEvent(append, IdOf(request, "todo rejected", digest), digest);
  event.set_agent_id(request.agent_id());
  v1::TodoRejected& rejected = *event.mutable_todo_rejected();
  rejected.set_call_id(request.call_id());
  rejected.set_tool(request.tool());
  rejected.set_reason(ReasonOf(refusal).value_or(docket::v1::ERROR_REASON_UNSPECIFIED));
  rejected.set_path(ValueOf(metadata, "path"));
  const std::string allowed = ValueOf(metadata, "allowed");
  // Words are told one by one, a sentence as a whole.
  const bool is_words = absl::StartsWith(allowed, "pending, ");
  const std::vector<std::string> all = is_words ? absl::StrSplit(allowed, ", ") : std::vector<std::string>{allowed};
  if (!allowed.empty()) rejected.mutable_allowed()->Add(all.begin(), all.end());
  rejected.set_message(std::string(CutUtf8(refusal.message(), kMaxMessageBytes)));
  rejected.set_raw_input(RawInput(request));
  return append;
}

}  // namespace docket::todo
