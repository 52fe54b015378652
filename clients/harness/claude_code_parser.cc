#include "clients/harness/claude_code_parser.h"

#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "clients/harness/json_lines.h"
#include "services/common/list_rules.h"
#include "services/common/sha256.h"

namespace docket::harness {
namespace {

constexpr char kInterrupted[] = "[Request interrupted";

// Whether a person may have written this: it is no mark, command, output or notice of the harness.
bool IsPrompt(absl::string_view text) {
  text = TrimText(text);
  if (text.empty()) return false;
  for (const absl::string_view prefix :
       {kInterrupted, "<command-name>", "<command-message>", "<command-args>", "<local-command-", "<bash-input>",
        "<bash-stdout>", "<bash-stderr>", "<teammate-message", "<task-notification", "<system-reminder", "<ide_",
        "<user-prompt-submit-hook", "Caveat: The messages below", "This session is being continued from"}) {
    if (absl::StartsWith(text, prefix)) return false;
  }
  return true;
}

bool IsTrue(const Json& object, absl::string_view name) {
  const Json& member = Member(object, name);
  return member.is_boolean() && member.get<bool>();
}

std::optional<absl::Time> TimeOf(const Json& entry) {
  absl::Time time;
  if (!absl::ParseTime(absl::RFC3339_full, StringMember(entry, "timestamp"), &time, nullptr)) return std::nullopt;
  if (time < absl::UnixEpoch() || time >= absl::FromUnixSeconds(253402300800)) return std::nullopt;
  return time;
}

// The text of a content that is a string or blocks.
std::string TextOf(const Json& content) {
  if (content.is_string()) return content.get<std::string>();
  std::string text;
  if (!content.is_array()) return text;
  for (const Json& block : content) {
    const absl::string_view part = StringMember(block, "text");
    if (part.empty()) continue;
    if (!text.empty()) text += '\n';
    text.append(part.data(), part.size());
  }
  return text;
}

// Adds a block of a message; tool calls and results are none of it.
void AddPart(const Json& block, log::v1::Message* message) {
  const absl::string_view type = StringMember(block, "type");
  if (type == "text") {
    message->add_parts()->set_text(std::string(StringMember(block, "text")));
  } else if (type == "thinking") {
    message->add_parts()->set_reasoning(std::string(StringMember(block, "thinking")));
  } else if (type == "image" || type == "document" || type == "redacted_thinking") {
    const Json& source = Member(block, "source");
    log::v1::OpaqueContent& opaque = *message->add_parts()->mutable_opaque();
    const absl::string_view kind = StringMember(source, "media_type");
    opaque.set_kind(std::string(kind.empty() ? type : kind));
    opaque.set_length(static_cast<int64_t>(StringMember(source, "data").size() + StringMember(block, "data").size()));
  }
}

}  // namespace

ClaudeCodeParser::ClaudeCodeParser(ParserOptions options, std::function<void(ParsedEvent)> sink)
    : recorder_("claude-code", std::move(options), std::move(sink)) {}

void ClaudeCodeParser::Feed(absl::string_view line) {
  recorder_.ReadLine(line, [this](const Json& entry, absl::string_view text) { Entry(entry, text); });
}

void ClaudeCodeParser::Entry(const Json& entry, absl::string_view text) {
  const absl::string_view type = StringMember(entry, "type");
  if (type != "user" && type != "assistant") return;
  session_ = std::string(StringMember(entry, "sessionId"));
  if (!recorder_.BeginEntry(session_, StringMember(entry, "uuid"), TimeOf(entry), text)) return;
  const std::string agent = AgentOf(entry, session_);
  if (type == "user") {
    User(agent, entry);
  } else {
    Assistant(agent, entry);
  }
}

std::string ClaudeCodeParser::AgentOf(const Json& entry, absl::string_view session) {
  if (!IsTrue(entry, "isSidechain")) return kMainAgent;
  const absl::string_view uuid = StringMember(entry, "uuid");
  std::string agent(StringMember(entry, "agentId"));
  if (agent.empty()) {
    const auto parent = agent_of_entry_.find(Sha256OfParts({session, StringMember(entry, "parentUuid")}));
    agent = parent != agent_of_entry_.end() ? parent->second : std::string(uuid);
  }
  if (agent == kMainAgent || !CheckId(v1::ERROR_REASON_INVALID_EVENT, "agent", agent).ok()) agent = "sidechain";
  if (!uuid.empty()) agent_of_entry_.emplace(Sha256OfParts({session, uuid}), agent);
  if (!recorder_.HasAgent(agent)) {
    const auto spawner = spawners_.find(Sha256OfParts({session, TextOf(Member(Member(entry, "message"), "content"))}));
    if (spawner == spawners_.end()) {
      recorder_.EnsureAgent(agent, kMainAgent, "", "");
    } else {
      recorder_.EnsureAgent(agent, spawner->second.agent, spawner->second.call_id, spawner->second.description);
      spawned_by_call_.emplace(Sha256OfParts({session, spawner->second.call_id}), agent);
      spawners_.erase(spawner);
    }
  }
  return agent;
}

void ClaudeCodeParser::User(const std::string& agent, const Json& entry) {
  const Json& content = Member(Member(entry, "message"), "content");
  const bool is_meta = IsTrue(entry, "isMeta") || IsTrue(entry, "isCompactSummary");
  log::v1::Message message;
  message.set_role(is_meta ? log::v1::MESSAGE_ROLE_SYSTEM : log::v1::MESSAGE_ROLE_USER);
  bool has_result = false;
  bool has_prompt = false;
  bool interrupted = false;
  const auto look = [&](absl::string_view text) {
    has_prompt = has_prompt || IsPrompt(text);
    interrupted = interrupted || absl::StartsWith(text, kInterrupted);
  };
  if (content.is_string()) {
    look(StringMember(Member(entry, "message"), "content"));
    message.add_parts()->set_text(content.get<std::string>());
  } else if (content.is_array()) {
    for (const Json& block : content) {
      if (StringMember(block, "type") != "tool_result") {
        if (StringMember(block, "type") == "text") look(StringMember(block, "text"));
        AddPart(block, &message);
        continue;
      }
      has_result = true;
      const absl::string_view call_id = StringMember(block, "tool_use_id");
      const Json& structured = Member(entry, "toolUseResult");
      const bool is_error = IsTrue(block, "is_error");
      const std::string text = TextOf(Member(block, "content"));
      TodoOutcome outcome;
      outcome.text = text;
      outcome.is_error = is_error || (Member(structured, "success").is_boolean() && !IsTrue(structured, "success"));
      const Json& id = Member(Member(structured, "task"), "id");
      if (id.is_string()) {
        outcome.task_id = id.get<std::string>();
      } else if (id.is_number_integer()) {
        outcome.task_id = id.dump();
      } else {
        absl::string_view rest = text;
        if (absl::ConsumePrefix(&rest, "Task #")) outcome.task_id = std::string(rest.substr(0, rest.find(' ')));
      }
      recorder_.EndTodo(agent, call_id, std::move(outcome));
      recorder_.Result(agent, call_id, is_error, text, structured.is_null() ? "" : structured.dump());
      const auto spawned = spawned_by_call_.find(Sha256OfParts({session_, call_id}));
      if (spawned != spawned_by_call_.end() && StringMember(structured, "status") != "async_launched") {
        recorder_.EndTurn(spawned->second, is_error ? v1::TURN_END_REASON_FAILED : v1::TURN_END_REASON_COMPLETED,
                          is_error ? absl::string_view(text) : "");
        spawned_by_call_.erase(spawned);
      }
    }
  }
  if (interrupted) recorder_.MarkInterrupted(agent);
  if (has_prompt && !has_result && !is_meta) {
    recorder_.StartTurn(agent, agent == kMainAgent ? v1::TURN_ORIGIN_USER : v1::TURN_ORIGIN_SUBAGENT);
  }
  recorder_.Say(agent, std::move(message));
}

void ClaudeCodeParser::Assistant(const std::string& agent, const Json& entry) {
  const Json& content = Member(Member(entry, "message"), "content");
  log::v1::Message message;
  message.set_role(log::v1::MESSAGE_ROLE_ASSISTANT);
  if (content.is_string()) message.add_parts()->set_text(content.get<std::string>());
  if (content.is_array()) {
    for (const Json& block : content) AddPart(block, &message);
  }
  recorder_.Say(agent, std::move(message));
  if (!content.is_array()) return;
  for (const Json& block : content) {
    if (StringMember(block, "type") != "tool_use") continue;
    const absl::string_view call_id = StringMember(block, "id");
    const absl::string_view tool = StringMember(block, "name");
    const Json& input = Member(block, "input");
    if (!recorder_.Call(agent, call_id, tool, input.dump())) continue;
    if (tool == "TodoWrite") {
      recorder_.BeginTodo(agent, call_id, tool, TodoCallKind::kReplace, input);
    } else if (tool == "TaskCreate") {
      recorder_.BeginTodo(agent, call_id, tool, TodoCallKind::kCreate, input);
    } else if (tool == "TaskUpdate") {
      recorder_.BeginTodo(agent, call_id, tool, TodoCallKind::kUpdate, input);
    } else if ((tool == "Task" || tool == "Agent") && Member(input, "prompt").is_string() &&
               CheckId(v1::ERROR_REASON_INVALID_EVENT, "call id", call_id).ok()) {
      spawners_[Sha256OfParts({session_, StringMember(input, "prompt")})] =
          Spawner{agent, std::string(call_id), std::string(StringMember(input, "description"))};
    }
  }
}

}  // namespace docket::harness
