#include "clients/harness/session_recorder.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "clients/harness/json_lines.h"
#include "services/common/event_id.h"
#include "services/common/list_rules.h"
#include "services/common/proto_time.h"
#include "services/common/sha256.h"

namespace docket::harness {
namespace {

constexpr int kMaxItems = 256;
constexpr size_t kMaxContentBytes = 4096;
constexpr size_t kMaxRawInputBytes = 4096;

using todo::v1::Normalization;
using todo::v1::TodoItem;
using todo::v1::TodoWritten;

// The longest prefix of `text` of at most `limit` bytes that ends with a whole character.
absl::string_view CutText(absl::string_view text, size_t limit) {
  if (text.size() <= limit) return text;
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xC0U) == 0x80U) --limit;
  return text.substr(0, limit);
}

// The first line of what was asked.
std::string TitleOf(const log::v1::Message& message) {
  for (const log::v1::MessagePart& part : message.parts()) {
    const absl::string_view text = absl::StripAsciiWhitespace(part.text());
    if (text.empty()) continue;
    std::string title(CutText(text.substr(0, text.find_first_of("\r\n")), kMaxTitleBytes));
    for (char& c : title) {
      if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) c = ' ';
    }
    return title;
  }
  return "";
}

bool ParseStatus(absl::string_view word, todo::v1::TodoStatus* status, bool* alias) {
  *alias = word == "todo" || word == "done";
  if (word == "pending" || word == "todo") {
    *status = todo::v1::TODO_STATUS_PENDING;
  } else if (word == "in_progress") {
    *status = todo::v1::TODO_STATUS_IN_PROGRESS;
  } else if (word == "completed" || word == "done") {
    *status = todo::v1::TODO_STATUS_COMPLETED;
  } else if (word == "cancelled") {
    *status = todo::v1::TODO_STATUS_CANCELLED;
  } else {
    return false;
  }
  return true;
}

bool IsOpen(const TodoItem& item) {
  return item.status() == todo::v1::TODO_STATUS_PENDING || item.status() == todo::v1::TODO_STATUS_IN_PROGRESS;
}

// Why a list cannot be taken.
struct Refusal {
  v1::ErrorReason reason = v1::ERROR_REASON_INVALID_TODO;
  std::string path;
  std::string message;
};

void AddNormalization(todo::v1::NormalizationKind kind, absl::string_view path, absl::string_view original,
                      TodoWritten* written) {
  Normalization& note = *written->add_normalizations();
  note.set_kind(kind);
  note.set_path(std::string(path));
  note.set_original(std::string(CutText(original, 256)));
}

// `text` as it may be stored; what was changed is told at `path`.
std::string CleanText(absl::string_view text, absl::string_view path, TodoWritten* written) {
  std::string clean(text);
  if (FindControlCharacter(text) != absl::string_view::npos) {
    clean = RemoveControlCharacters(text);
    AddNormalization(todo::v1::NORMALIZATION_KIND_REMOVED_CHARACTERS, path, text, written);
  }
  const absl::string_view trimmed = TrimText(clean);
  if (trimmed.size() != clean.size()) {
    AddNormalization(todo::v1::NORMALIZATION_KIND_TRIMMED, path, clean, written);
    clean = std::string(trimmed);
  }
  return clean;
}

}  // namespace

absl::string_view StringMember(const Json& object, absl::string_view name) {
  const Json& member = Member(object, name);
  if (!member.is_string()) return {};
  return member.get_ref<const std::string&>();
}

const Json& Member(const Json& object, absl::string_view name) {
  static const Json* const null = new Json();
  if (!object.is_object()) return *null;
  const auto found = object.find(std::string(name));
  return found == object.end() ? *null : *found;
}

// One agent of a session.
struct SessionRecorder::Agent {
  bool spawned = false;
  std::string open_turn;
  int64_t turns = 0;
  bool interrupted = false;
  int64_t items_named = 0;
  std::vector<TodoItem> list;
  absl::flat_hash_set<std::string> calls;
};

// A todo call whose outcome is not known.
struct SessionRecorder::PendingTodo {
  std::string agent;
  std::string call_id;
  std::string tool;
  TodoCallKind kind = TodoCallKind::kReplace;
  Json input;
  log::v1::SessionEvent envelope;
  absl::Time at;
  int64_t line = 0;
};

// An event that waits, or the place of a list that will be written there.
struct SessionRecorder::Held {
  enum class State { kEvent, kWaiting, kNothing };
  State state = State::kEvent;
  std::string agent;  // with kWaiting
  log::v1::SessionEvent event;
  absl::Time at;
};

// One session of the recording.
struct SessionRecorder::Session {
  std::string id;
  absl::Time now = absl::UnixEpoch();
  bool has_time = false;
  int64_t entries = 0;
  struct Seen {
    std::string digest;
    int64_t times = 0;
  };
  absl::flat_hash_map<std::string, Seen> keys;
  std::map<std::string, Agent, std::less<>> agents;
  std::deque<PendingTodo> pending;
  std::deque<Held> held;
  size_t held_bytes = 0;
  std::vector<std::pair<std::string, TodoItem>> tasks;
  int64_t last_task = 0;
  bool titled = false;
};

SessionRecorder::SessionRecorder(std::string format, ParserOptions options, std::function<void(ParsedEvent)> sink)
    : format_(std::move(format)), options_(std::move(options)), sink_(std::move(sink)) {}

SessionRecorder::~SessionRecorder() = default;

void SessionRecorder::NoteRepaired(absl::string_view text) {
  ++report_.repaired_count;
  if (report_.repaired.size() < kMaxReportedNotes) report_.repaired.push_back({report_.lines, std::string(text)});
}

void SessionRecorder::NoteSkipped(absl::string_view text) {
  ++report_.skipped_count;
  if (report_.skipped.size() < kMaxReportedNotes) report_.skipped.push_back({report_.lines, std::string(text)});
}

void SessionRecorder::ReadLine(absl::string_view line,
                               absl::FunctionRef<void(const nlohmann::json&, absl::string_view)> entry) {
  ++report_.lines;
  if (line.size() > kMaxLineBytes) {
    NoteSkipped("the line is longer than 64 MiB");
    return;
  }
  const JsonObjects split = SplitObjects(line);
  if (split.objects.size() > 1) {
    NoteRepaired(absl::StrCat(split.objects.size(), " objects on one line"));
  }
  for (const absl::string_view text : split.objects) {
    const nlohmann::json object = ParseJson(text);
    if (object.is_discarded()) {
      NoteSkipped("not JSON");
    } else {
      entry(object, text);
    }
  }
  if (split.has_rest) NoteSkipped("not JSON");
}

std::string SessionRecorder::SafeId(absl::string_view id, absl::string_view what) {
  if (CheckId(v1::ERROR_REASON_INVALID_EVENT, what, id).ok()) return std::string(id);
  NoteRepaired(absl::StrCat("a ", what, " that cannot be one was replaced by a hash of it"));
  return EventId::FromHash(Sha256(id)).ToString();
}

bool SessionRecorder::BeginEntry(absl::string_view session_id, absl::string_view key, std::optional<absl::Time> at,
                                 absl::string_view content) {
  if (session_id.empty()) session_id = options_.session_id;
  if (!CheckId(v1::ERROR_REASON_INVALID_EVENT, "session_id", session_id).ok()) {
    NoteSkipped("the entry names no session");
    return false;
  }
  auto found = sessions_.find(session_id);
  const bool is_new = found == sessions_.end();
  if (is_new) {
    found = sessions_.emplace(std::string(session_id), std::make_unique<Session>()).first;
    found->second->id = std::string(session_id);
    order_.push_back(found->second.get());
  }
  Session& session = *found->second;
  current_ = &session;
  if (at.has_value()) {
    session.now = *at;
    session.has_time = true;
  }
  ++session.entries;
  part_ = 0;
  repeat_.clear();
  if (key.empty()) {
    key_ = absl::StrCat("#", session.entries);
  } else {
    key_ = std::string(key);
    Session::Seen& seen = session.keys[key_];
    std::string digest = Sha256(content);
    if (seen.times > 0 && seen.digest == digest) {
      NoteSkipped("the entry came before");
      return false;
    }
    if (seen.times == 0) seen.digest = std::move(digest);
    if (++seen.times > 1) repeat_ = absl::StrCat(seen.times);
  }
  if (is_new) {
    log::v1::SessionEvent event = NewOnlyEvent("", "opened");
    auto& labels = *event.mutable_session_opened()->mutable_labels();
    labels["harness"] = format_;
    if (!options_.source_name.empty() && IsValidUtf8(options_.source_name)) {
      labels["source"] = std::string(CutText(options_.source_name, 256));
    }
    Put(std::move(event));
  }
  return true;
}

SessionRecorder::Agent& SessionRecorder::AgentOf(absl::string_view agent) {
  const auto found = current_->agents.find(agent);
  if (found != current_->agents.end()) return found->second;
  return current_->agents.emplace(std::string(agent), Agent()).first->second;
}

log::v1::SessionEvent SessionRecorder::NewEvent(absl::string_view agent, absl::string_view part) {
  log::v1::SessionEvent event;
  const std::string number = absl::StrCat(part_++);
  event.set_event_id(
      EventId::FromTimeAndHash(current_->now, Sha256OfParts({format_, current_->id, key_, repeat_, part, number}))
          .ToString());
  event.set_agent_id(std::string(agent));
  if (current_->has_time) *event.mutable_occurred_at() = ToProto(current_->now);
  return event;
}

log::v1::SessionEvent SessionRecorder::NewOnlyEvent(absl::string_view agent, absl::string_view part) {
  log::v1::SessionEvent event = NewEvent(agent, part);
  const std::string hash = Sha256OfParts({format_, current_->id, agent, part});
  event.set_event_id(EventId::FromHash(hash).ToString());
  event.set_content_digest(hash);
  return event;
}

void SessionRecorder::Put(log::v1::SessionEvent event) {
  Session& session = *current_;
  if (session.held.empty()) {
    Emit(session, std::move(event), session.now);
    return;
  }
  Held held;
  session.held_bytes += event.ByteSizeLong();
  held.event = std::move(event);
  held.at = session.now;
  session.held.push_back(std::move(held));
  if (session.held.size() > kMaxHeldEvents || session.held_bytes > kMaxHeldBytes) AcceptPending(&session, "");
}

void SessionRecorder::Emit(const Session& session, log::v1::SessionEvent event, absl::Time at) {
  ++report_.events;
  if (event.has_todo_written()) ++report_.writes;
  if (event.has_todo_rejected()) ++report_.rejected;
  sink_(ParsedEvent{session.id, std::move(event), at});
}

void SessionRecorder::Flush(Session* session) {
  while (!session->held.empty() && session->held.front().state != Held::State::kWaiting) {
    Held held = std::move(session->held.front());
    session->held.pop_front();
    if (held.state == Held::State::kNothing) continue;
    session->held_bytes -= std::min(session->held_bytes, held.event.ByteSizeLong());
    Emit(*session, std::move(held.event), held.at);
  }
}

void SessionRecorder::AcceptPending(Session* session, absl::string_view agent) {
  for (size_t i = 0; i < session->pending.size();) {
    if (!agent.empty() && session->pending[i].agent != agent) {
      ++i;
      continue;
    }
    PendingTodo pending = std::move(session->pending[i]);
    session->pending.erase(session->pending.begin() + static_cast<std::ptrdiff_t>(i));
    Resolve(session, std::move(pending), TodoOutcome());
  }
}

bool SessionRecorder::HasAgent(absl::string_view agent) const {
  return current_->agents.find(agent) != current_->agents.end();
}

void SessionRecorder::EnsureAgent(absl::string_view agent, absl::string_view parent, absl::string_view call_id,
                                  absl::string_view display_name) {
  if (agent == kMainAgent) return;
  Agent& known = AgentOf(agent);
  if (known.spawned) return;
  known.spawned = true;
  log::v1::SessionEvent event = NewOnlyEvent(agent, "spawned");
  log::v1::AgentSpawned& spawned = *event.mutable_agent_spawned();
  spawned.set_parent_agent_id(std::string(parent));
  spawned.set_call_id(std::string(call_id));
  spawned.set_display_name(std::string(CutText(display_name, 1024)));
  Put(std::move(event));
}

void SessionRecorder::StartTurn(absl::string_view agent, v1::TurnOrigin origin) {
  if (origin == v1::TURN_ORIGIN_USER) AcceptPending(current_, "");
  Agent& state = AgentOf(agent);
  EndTurn(agent, state.interrupted ? v1::TURN_END_REASON_INTERRUPTED : v1::TURN_END_REASON_COMPLETED, "");
  state.open_turn = absl::StrCat("turn-", ++state.turns);
  log::v1::SessionEvent event = NewEvent(agent, "turn");
  event.mutable_turn_started()->set_turn_id(state.open_turn);
  event.mutable_turn_started()->set_origin(origin);
  Put(std::move(event));
}

void SessionRecorder::EndTurn(absl::string_view agent, v1::TurnEndReason reason, absl::string_view message) {
  AcceptPending(current_, agent);
  Agent& state = AgentOf(agent);
  state.interrupted = false;
  if (state.open_turn.empty()) return;
  log::v1::SessionEvent event = NewEvent(agent, "turn-end");
  event.mutable_turn_ended()->set_turn_id(state.open_turn);
  event.mutable_turn_ended()->set_reason(reason);
  event.mutable_turn_ended()->set_message(std::string(CutText(message, 4096)));
  state.open_turn.clear();
  Put(std::move(event));
}

void SessionRecorder::MarkInterrupted(absl::string_view agent) {
  AgentOf(agent).interrupted = true;
}

void SessionRecorder::Say(absl::string_view agent, log::v1::Message message) {
  size_t left = kMaxTextBytes;
  bool cut = false;
  log::v1::SessionEvent event = NewEvent(agent, "message");
  log::v1::Message& kept = *event.mutable_message();
  kept.set_role(message.role());
  for (log::v1::MessagePart& part : *message.mutable_parts()) {
    if (kept.parts_size() >= 1000) {
      cut = true;
      break;
    }
    std::string* text = part.part_case() == log::v1::MessagePart::kText        ? part.mutable_text()
                        : part.part_case() == log::v1::MessagePart::kReasoning ? part.mutable_reasoning()
                                                                               : nullptr;
    if (text != nullptr) {
      const absl::string_view fits = CutText(*text, left);
      left -= fits.size();
      if (fits.size() != text->size()) {
        text->resize(fits.size());
        cut = true;
      }
      if (text->empty()) continue;
    }
    *kept.add_parts() = std::move(part);
  }
  if (cut) NoteRepaired("a message was cut at 1 MiB");
  if (kept.parts_size() == 0) return;
  std::string title;
  if (kept.role() == log::v1::MESSAGE_ROLE_USER && agent == kMainAgent && !AgentOf(agent).open_turn.empty()) {
    title = TitleOf(kept);
  }
  Put(std::move(event));
  if (!title.empty() && !std::exchange(current_->titled, true)) {
    event = NewEvent("", "titled");
    event.mutable_session_updated()->set_title(title);
    Put(std::move(event));
  }
}

bool SessionRecorder::Call(absl::string_view agent, absl::string_view call_id, absl::string_view tool,
                           absl::string_view arguments_json) {
  const std::string id = SafeId(call_id, "call id");
  if (!AgentOf(agent).calls.insert(id).second) {
    NoteSkipped("the call came before");
    return false;
  }
  log::v1::SessionEvent event = NewEvent(agent, "call");
  event.mutable_tool_call()->set_call_id(id);
  event.mutable_tool_call()->set_tool(SafeId(tool, "tool name"));
  if (arguments_json.size() > kMaxTextBytes) {
    NoteRepaired("arguments of more than 1 MiB were left out");
    event.mutable_tool_call()->set_arguments_json(absl::StrCat("{\"left_out_bytes\":", arguments_json.size(), "}"));
  } else {
    event.mutable_tool_call()->set_arguments_json(std::string(arguments_json));
  }
  Put(std::move(event));
  return true;
}

void SessionRecorder::Result(absl::string_view agent, absl::string_view call_id, bool is_error, absl::string_view text,
                             absl::string_view structured_json) {
  log::v1::SessionEvent event = NewEvent(agent, "result");
  log::v1::ToolResult& result = *event.mutable_tool_result();
  result.set_call_id(SafeId(call_id, "call id"));
  result.set_is_error(is_error);
  if (text.size() > kMaxTextBytes) NoteRepaired("a result was cut at 1 MiB");
  result.set_text(std::string(CutText(text, kMaxTextBytes)));
  if (structured_json.size() <= kMaxStructuredBytes) result.set_structured_json(std::string(structured_json));
  Put(std::move(event));
}

void SessionRecorder::BeginTodo(absl::string_view agent, absl::string_view call_id, absl::string_view tool,
                                TodoCallKind kind, Json input) {
  if (AgentOf(agent).open_turn.empty()) StartTurn(agent, v1::TURN_ORIGIN_IMPLICIT);
  PendingTodo pending;
  pending.agent = std::string(agent);
  pending.call_id = call_id.empty() ? "" : SafeId(call_id, "call id");
  pending.tool = std::string(CutText(tool, 256));
  pending.kind = kind;
  pending.input = std::move(input);
  pending.envelope = NewEvent(agent, "todo");
  pending.at = current_->now;
  pending.line = report_.lines;
  current_->pending.push_back(std::move(pending));
  Held place;
  place.state = Held::State::kWaiting;
  place.agent = std::string(agent);
  current_->held.push_back(std::move(place));
}

bool SessionRecorder::IsPendingTodo(absl::string_view agent, absl::string_view call_id) const {
  return std::any_of(current_->pending.begin(), current_->pending.end(),
                     [&](const PendingTodo& pending) { return pending.agent == agent && pending.call_id == call_id; });
}

bool SessionRecorder::HasPendingTodo(absl::string_view agent) const {
  return std::any_of(current_->pending.begin(), current_->pending.end(),
                     [&](const PendingTodo& pending) { return pending.agent == agent; });
}

void SessionRecorder::EndTodo(absl::string_view agent, absl::string_view call_id, TodoOutcome outcome) {
  const auto found = std::find_if(current_->pending.begin(), current_->pending.end(), [&](const PendingTodo& pending) {
    return pending.agent == agent && pending.call_id == call_id;
  });
  if (found == current_->pending.end()) return;
  PendingTodo pending = std::move(*found);
  current_->pending.erase(found);
  Resolve(current_, std::move(pending), outcome);
}

void SessionRecorder::Resolve(Session* session, PendingTodo pending, const TodoOutcome& outcome) {
  const auto place = std::find_if(session->held.begin(), session->held.end(), [&](const Held& held) {
    return held.state == Held::State::kWaiting && held.agent == pending.agent;
  });
  if (place == session->held.end()) return;
  log::v1::SessionEvent event = std::move(pending.envelope);
  if (Judge(session, pending, outcome, &event)) {
    place->state = Held::State::kEvent;
    session->held_bytes += event.ByteSizeLong();
    place->event = std::move(event);
    place->at = pending.at;
  } else {
    place->state = Held::State::kNothing;
  }
  Flush(session);
}

bool SessionRecorder::Judge(Session* session, const PendingTodo& pending, const TodoOutcome& outcome,
                            log::v1::SessionEvent* event) {
  const auto refuse = [&](const Refusal& why) {
    todo::v1::TodoRejected& rejected = *event->mutable_todo_rejected();
    rejected.set_call_id(pending.call_id);
    rejected.set_tool(pending.tool);
    rejected.set_reason(why.reason);
    rejected.set_path(why.path);
    rejected.set_message(std::string(CutText(why.message, 4096)));
    rejected.set_raw_input(std::string(CutText(pending.input.dump(), kMaxRawInputBytes)));
    return true;
  };
  if (outcome.is_error) return refuse({v1::ERROR_REASON_INVALID_TODO, "", outcome.text});

  TodoWritten written;
  // As they came, each with its own id where the source has one.
  std::vector<TodoItem> items;
  std::vector<std::pair<std::string, TodoItem>> tasks;
  int64_t last_task = session->last_task;
  Agent& agent = session->agents.find(pending.agent)->second;

  // Content, status and the present continuous of one entry. False: `why` says what is wrong.
  Refusal why;
  const auto read_content = [&](absl::string_view raw, absl::string_view path, TodoItem* item) {
    item->set_content(CleanText(raw, path, &written));
    if (!item->content().empty() && item->content().size() <= kMaxContentBytes) return true;
    why = {v1::ERROR_REASON_TODO_RULE, std::string(path),
           item->content().empty() ? "The content is empty." : "The content is longer than 4096 bytes."};
    return false;
  };
  const auto read_status = [&](absl::string_view word, absl::string_view path, TodoItem* item) {
    todo::v1::TodoStatus status = todo::v1::TODO_STATUS_UNSPECIFIED;
    bool alias = false;
    if (!ParseStatus(word, &status, &alias)) {
      why = {v1::ERROR_REASON_INVALID_TODO, std::string(path),
             absl::StrCat("The status is none of: ", kStatusWords, ".")};
      return false;
    }
    if (alias) AddNormalization(todo::v1::NORMALIZATION_KIND_STATUS_ALIAS, path, word, &written);
    item->set_status(status);
    return true;
  };

  if (pending.kind == TodoCallKind::kReplace) {
    Json parsed;
    const Json* todos = &Member(pending.input, "todos");
    if (todos->is_string()) {
      const std::string& text = todos->get_ref<const std::string&>();
      parsed = ParseJson(text);
      AddNormalization(todo::v1::NORMALIZATION_KIND_PARSED_STRING, "items", text, &written);
      todos = &parsed;
    }
    if (!todos->is_array()) return refuse({v1::ERROR_REASON_INVALID_TODO, "items", "The call has no list."});
    if (todos->size() > static_cast<size_t>(kMaxItems)) {
      return refuse({v1::ERROR_REASON_TODO_RULE, "items", "The list has more than 256 items."});
    }
    for (size_t i = 0; i < todos->size(); ++i) {
      const Json& entry = (*todos)[i];
      const std::string path = absl::StrCat("items[", i, "]");
      TodoItem item;
      if (!read_content(StringMember(entry, "content"), absl::StrCat(path, ".content"), &item) ||
          !read_status(StringMember(entry, "status"), absl::StrCat(path, ".status"), &item)) {
        return refuse(why);
      }
      const absl::string_view source = StringMember(entry, "id");
      if (CheckId(v1::ERROR_REASON_INVALID_TODO, "id", source).ok()) item.set_source_id(std::string(source));
      item.set_active_form(std::string(
          TrimText(CutText(CleanText(StringMember(entry, "activeForm"), absl::StrCat(path, ".active_form"), &written),
                           kMaxContentBytes))));
      item.set_priority(std::string(TrimText(
          CutText(CleanText(StringMember(entry, "priority"), absl::StrCat(path, ".priority"), &written), 256))));
      items.push_back(std::move(item));
    }
  } else {
    tasks = session->tasks;
    if (pending.kind == TodoCallKind::kCreate) {
      TodoItem item;
      if (!read_content(StringMember(pending.input, "subject"), absl::StrCat("items[", tasks.size(), "].content"),
                        &item)) {
        return refuse(why);
      }
      if (tasks.size() >= static_cast<size_t>(kMaxItems)) {
        return refuse({v1::ERROR_REASON_TODO_RULE, "items", "The list has more than 256 items."});
      }
      const std::string id = outcome.task_id.empty() || outcome.task_id.size() > 200 ||
                                     !CheckId(v1::ERROR_REASON_INVALID_TODO, "id", outcome.task_id).ok()
                                 ? absl::StrCat(last_task + 1)
                                 : outcome.task_id;
      int64_t number = 0;
      last_task = absl::SimpleAtoi(id, &number) && number > last_task && number < INT64_MAX ? number : last_task + 1;
      if (std::any_of(tasks.begin(), tasks.end(), [&](const auto& task) { return task.first == id; })) {
        return refuse({v1::ERROR_REASON_INVALID_TODO, "items", "The task is there already."});
      }
      item.set_status(todo::v1::TODO_STATUS_PENDING);
      item.set_item_id(absl::StrCat("task-", id));
      item.set_source_id(id);
      item.set_active_form(std::string(TrimText(CutText(
          CleanText(StringMember(pending.input, "activeForm"), "items.active_form", &written), kMaxContentBytes))));
      tasks.emplace_back(id, std::move(item));
    } else {
      const Json& id_member = Member(pending.input, "taskId");
      const std::string id = id_member.is_string()           ? id_member.get<std::string>()
                             : id_member.is_number_integer() ? id_member.dump()
                                                             : "";
      const bool has_status = Member(pending.input, "status").is_string();
      const bool has_subject = Member(pending.input, "subject").is_string();
      if (!has_status && !has_subject) return false;
      const auto found = std::find_if(tasks.begin(), tasks.end(), [&](const auto& task) { return task.first == id; });
      if (found == tasks.end()) {
        NoteSkipped("a task is changed whose creation is not in the recording");
        return false;
      }
      const std::string path = absl::StrCat("items[", found - tasks.begin(), "]");
      const absl::string_view status = StringMember(pending.input, "status");
      if (has_status && status == "deleted") {
        tasks.erase(found);
      } else {
        if (has_subject &&
            !read_content(StringMember(pending.input, "subject"), absl::StrCat(path, ".content"), &found->second)) {
          return refuse(why);
        }
        if (has_status && !read_status(status, absl::StrCat(path, ".status"), &found->second)) return refuse(why);
      }
    }
    for (const auto& task : tasks) items.push_back(task.second);
  }

  // Later items that repeat an earlier one's content are told apart.
  absl::flat_hash_set<std::string> contents;
  for (size_t i = 0; i < items.size(); ++i) {
    std::string content = items[i].content();
    for (int number = 2; !contents.insert(content).second; ++number) {
      content = absl::StrCat(items[i].content(), " (", number, ")");
    }
    if (content != items[i].content()) {
      AddNormalization(todo::v1::NORMALIZATION_KIND_DUPLICATE_CONTENT, absl::StrCat("items[", i, "].content"),
                       items[i].content(), &written);
      items[i].set_content(std::move(content));
    }
  }

  // Ids are kept by the source's id, else by equal content, else given.
  absl::flat_hash_map<absl::string_view, const TodoItem*> by_source;
  absl::flat_hash_map<absl::string_view, const TodoItem*> by_content;
  for (const TodoItem& item : agent.list) {
    if (!item.source_id().empty()) by_source.emplace(item.source_id(), &item);
    by_content.emplace(item.content(), &item);
  }
  absl::flat_hash_set<std::string> taken;
  for (const TodoItem& item : items) {
    if (!item.item_id().empty()) taken.insert(item.item_id());
  }
  int64_t named = agent.items_named;
  for (TodoItem& item : items) {
    if (!item.item_id().empty()) continue;
    const auto source = by_source.find(item.source_id());
    if (!item.source_id().empty() && source != by_source.end() && taken.insert(source->second->item_id()).second) {
      item.set_item_id(source->second->item_id());
    }
  }
  for (TodoItem& item : items) {
    if (!item.item_id().empty()) continue;
    const auto content = by_content.find(item.content());
    if (content != by_content.end() && taken.insert(content->second->item_id()).second) {
      item.set_item_id(content->second->item_id());
    } else {
      item.set_item_id(absl::StrCat("item-", ++named));
      taken.insert(item.item_id());
    }
  }

  for (const TodoItem& item : items) *written.add_items() = item;
  for (const TodoItem& item : agent.list) {
    if (IsOpen(item) && !taken.contains(item.item_id())) written.add_dropped_unfinished(item.item_id());
  }
  written.set_call_id(pending.call_id);
  written.mutable_actor()->set_kind(todo::v1::ACTOR_KIND_IMPORT);
  written.mutable_actor()->set_name(format_);
  written.set_cause(todo::v1::WRITE_CAUSE_IMPORT);
  written.set_mode(pending.kind == TodoCallKind::kReplace ? todo::v1::WRITE_MODE_REPLACE : todo::v1::WRITE_MODE_MERGE);
  const absl::Status status = CheckList(v1::ERROR_REASON_INVALID_TODO, written.items());
  if (!status.ok()) return refuse({v1::ERROR_REASON_INVALID_TODO, "items", std::string(status.message())});

  if (written.normalizations_size() > 0) {
    NoteRepaired(absl::StrCat("the list of the call on line ", pending.line, " was repaired in ",
                              written.normalizations_size(), " place(s)"));
  }
  agent.items_named = named;
  agent.list = std::move(items);
  if (pending.kind != TodoCallKind::kReplace) {
    session->tasks = std::move(tasks);
    session->last_task = last_task;
  }
  *event->mutable_todo_written() = std::move(written);
  return true;
}

void SessionRecorder::Finish() {
  for (Session* session : order_) {
    AcceptPending(session, "");
    Flush(session);
  }
}

}  // namespace docket::harness
