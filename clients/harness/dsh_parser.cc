#include "clients/harness/dsh_parser.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "clients/harness/json_lines.h"

namespace docket::harness {
namespace {

constexpr int64_t kMaxMillis = 253402300799000;

std::string TextOf(const Json& content) {
  std::string text;
  if (!content.is_array()) return text;
  for (const Json& block : content) {
    const absl::string_view part = StringMember(block, "text");
    text.append(part.data(), part.size());
  }
  return text;
}

log::v1::Message MessageOf(const Json& data, log::v1::MessageRole role) {
  log::v1::Message message;
  message.set_role(role);
  const Json& content = Member(data, "content");
  if (!content.is_array()) return message;
  for (const Json& block : content) {
    const absl::string_view type = StringMember(block, "type");
    if (type == "text") {
      message.add_parts()->set_text(std::string(StringMember(block, "text")));
    } else if (type == "reasoning") {
      message.add_parts()->set_reasoning(std::string(StringMember(block, "text")));
    }
  }
  return message;
}

}  // namespace

DshParser::DshParser(ParserOptions options, std::function<void(ParsedEvent)> sink)
    : recorder_("dsh", std::move(options), std::move(sink)) {}

void DshParser::Feed(absl::string_view line) {
  recorder_.ReadLine(line, [this](const Json& entry, absl::string_view text) { Entry(entry, text); });
}

void DshParser::Entry(const Json& entry, absl::string_view text) {
  const absl::string_view type = StringMember(entry, "type");
  const Json& data = Member(entry, "data");
  if (type == "session") {
    session_ = std::string(StringMember(entry, "id"));
    const Json& created = Member(entry, "createdAt");
    now_.reset();
    if (created.is_number_unsigned() && created.get<uint64_t>() < static_cast<uint64_t>(kMaxMillis)) {
      now_ = absl::FromUnixMillis(created.get<int64_t>());
    }
  }
  const Json& deltas = Member(data, "dt");
  if (now_.has_value() && deltas.is_array()) {
    for (const Json& delta : deltas) {
      if (!delta.is_number_unsigned() || delta.get<uint64_t>() > 86'400'000) continue;
      now_ = *now_ + absl::Milliseconds(delta.get<int64_t>());
    }
    if (*now_ > absl::FromUnixMillis(kMaxMillis)) now_ = absl::FromUnixMillis(kMaxMillis);
  }
  if (type != "session" && type != "turn/start" && type != "turn/end" && type != "user/message" &&
      type != "assistant/message" && type != "tool/call" && type != "tool/result" && type != "todo/write") {
    return;
  }
  if (!recorder_.BeginEntry(session_, "", now_, text)) return;
  if (type == "turn/start") {
    recorder_.StartTurn(kMainAgent, v1::TURN_ORIGIN_USER);
  } else if (type == "turn/end") {
    const absl::string_view kind = StringMember(Member(data, "reason"), "kind");
    recorder_.EndTurn(kMainAgent,
                      kind == "completed" ? v1::TURN_END_REASON_COMPLETED
                      : kind == "interrupted" || kind == "aborted" || kind == "cancelled"
                          ? v1::TURN_END_REASON_INTERRUPTED
                          : v1::TURN_END_REASON_FAILED,
                      StringMember(Member(data, "reason"), "message"));
  } else if (type == "user/message") {
    const bool from_user = StringMember(Member(data, "source"), "kind") == "user";
    recorder_.Say(kMainAgent, MessageOf(data, from_user ? log::v1::MESSAGE_ROLE_USER : log::v1::MESSAGE_ROLE_SYSTEM));
  } else if (type == "assistant/message") {
    const Json& inner = Member(data, "message");
    recorder_.Say(kMainAgent, MessageOf(inner.is_object() ? inner : data, log::v1::MESSAGE_ROLE_ASSISTANT));
  } else if (type == "tool/call") {
    const absl::string_view call_id = StringMember(data, "callId");
    const absl::string_view tool = StringMember(data, "name");
    const absl::string_view arguments = StringMember(data, "arguments");
    if (!recorder_.Call(kMainAgent, call_id, tool, arguments)) return;
    if (tool != "todo_write") return;
    Json input = ParseJson(arguments);
    if (input.is_discarded()) input = Json();
    recorder_.BeginTodo(kMainAgent, call_id, tool, TodoCallKind::kReplace, std::move(input));
  } else if (type == "tool/result") {
    const Json& content = Member(Member(data, "message"), "content");
    if (!content.is_array()) return;
    for (const Json& block : content) {
      if (StringMember(block, "type") != "tool-result") continue;
      const absl::string_view call_id = StringMember(block, "toolCallId");
      const Json& error = Member(block, "isError");
      const bool is_error = error.is_boolean() && error.get<bool>();
      const std::string result = TextOf(Member(block, "content"));
      recorder_.EndTodo(kMainAgent, call_id, TodoOutcome{is_error, result, ""});
      recorder_.Result(kMainAgent, call_id, is_error, result, "");
    }
  } else if (type == "todo/write" && !recorder_.HasPendingTodo(kMainAgent)) {
    // Told beside the call that wrote it, or a write without one.
    recorder_.BeginTodo(kMainAgent, "", "", TodoCallKind::kReplace, data);
    recorder_.EndTodo(kMainAgent, "", TodoOutcome());
  }
}

}  // namespace docket::harness
