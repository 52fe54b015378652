#include "clients/cli/event_lines.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "clients/cli/plan_lines.h"
#include "clients/cli/terminal_text.h"
#include "google/protobuf/descriptor.h"

namespace docket::cli {
namespace {

constexpr int kTextColumns = 100;
constexpr absl::string_view kTypePrefix = "EVENT_TYPE_";

std::string Word(absl::string_view enum_name, absl::string_view prefix) {
  return absl::AsciiStrToLower(absl::StripPrefix(enum_name, prefix));
}

std::string MessageText(const log::v1::Message& message) {
  std::vector<std::string> parts;
  for (const log::v1::MessagePart& part : message.parts()) {
    if (part.has_text()) parts.push_back(part.text());
    if (part.has_reasoning()) parts.push_back(absl::StrCat("(thinks) ", part.reasoning()));
    if (part.has_opaque()) parts.push_back(absl::StrCat("[", part.opaque().kind(), "]"));
  }
  return absl::StrCat(Word(log::v1::MessageRole_Name(message.role()), "MESSAGE_ROLE_"), ": ",
                      absl::StrJoin(parts, " "));
}

std::string ListText(const todo::v1::TodoWritten& written) {
  std::vector<std::string> items;
  for (const todo::v1::TodoItem& item : written.items())
    items.push_back(absl::StrCat(StatusMark(item.status()), " ", item.content()));
  return items.empty() ? "empty plan" : absl::StrJoin(items, "  ");
}

std::string FullText(const log::v1::SessionEvent& event) {
  using Event = log::v1::SessionEvent;
  switch (event.event_case()) {
    case Event::kSessionOpened:
      return event.session_opened().title();
    case Event::kSessionUpdated:
      return event.session_updated().title();
    case Event::kSessionClosed:
      return event.session_closed().reason();
    case Event::kSessionErased:
      return absl::StrCat("by ", event.session_erased().requested_by());
    case Event::kAgentSpawned:
      return absl::StrCat("by ", event.agent_spawned().parent_agent_id(), " ", event.agent_spawned().display_name());
    case Event::kTurnStarted: {
      const auto& turn = event.turn_started();
      const std::string supersedes = turn.supersedes().empty() ? "" : absl::StrCat(", supersedes ", turn.supersedes());
      return absl::StrCat(turn.turn_id(), " (", Word(docket::v1::TurnOrigin_Name(turn.origin()), "TURN_ORIGIN_"), ")",
                          supersedes);
    }
    case Event::kTurnEnded:
      return absl::StrCat(event.turn_ended().turn_id(), " (",
                          Word(docket::v1::TurnEndReason_Name(event.turn_ended().reason()), "TURN_END_REASON_"), ") ",
                          event.turn_ended().message());
    case Event::kMessage:
      return MessageText(event.message());
    case Event::kToolCall:
      return absl::StrCat(event.tool_call().tool(), " ", event.tool_call().arguments_json());
    case Event::kToolResult:
      return absl::StrCat(event.tool_result().is_error() ? "error: " : "", event.tool_result().text());
    case Event::kTranscriptCompacted:
      return absl::StrCat("up to ", event.transcript_compacted().through_seq());
    case Event::kTranscriptRewound:
      return absl::StrCat("to ", event.transcript_rewound().to_seq());
    case Event::kTodoWritten:
      return ListText(event.todo_written());
    case Event::kTodoRejected:
      return event.todo_rejected().message();
    case Event::kCustom:
      return event.custom().type_url();
    case Event::EVENT_NOT_SET:
      break;
  }
  return "of a later version";
}

}  // namespace

std::string EventTypeText(log::v1::EventType type) {
  const std::string& name = log::v1::EventType_Name(type);
  return name.empty() ? absl::StrCat("type ", static_cast<int>(type)) : Word(name, kTypePrefix);
}

log::v1::EventType EventTypeOf(absl::string_view text) {
  log::v1::EventType type = log::v1::EVENT_TYPE_UNSPECIFIED;
  const std::string name = absl::StrCat(kTypePrefix, absl::AsciiStrToUpper(text));
  return log::v1::EventType_Parse(name, &type) ? type : log::v1::EVENT_TYPE_UNSPECIFIED;
}

log::v1::EventType TypeOf(const log::v1::SessionEvent& event) {
  return static_cast<log::v1::EventType>(event.event_case());  // they have the same numbers
}

std::string EventText(const log::v1::SessionEvent& event) {
  return CutText(SafeText(FullText(event)), kTextColumns);
}

}  // namespace docket::cli
