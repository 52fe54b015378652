#ifndef DOCKET_CLIENTS_HARNESS_SESSION_RECORDER_H_
#define DOCKET_CLIENTS_HARNESS_SESSION_RECORDER_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "clients/harness/transcript_parser.h"
#include "docket/todo/v1/todo.pb.h"
#include "docket/v1/turn.pb.h"
#include "nlohmann/json.hpp"

namespace docket::harness {

using Json = nlohmann::json;

inline constexpr char kMainAgent[] = "main";
inline constexpr size_t kMaxTextBytes = 1 << 20;
inline constexpr size_t kMaxStructuredBytes = 256 << 10;
inline constexpr size_t kMaxTitleBytes = 120;
// What is held back behind a call without a result, per session.
inline constexpr size_t kMaxHeldEvents = 4096;
inline constexpr size_t kMaxHeldBytes = 16 << 20;

// The member `name` of `object` if it is a string, else empty. The view lives as long as `object`.
absl::string_view StringMember(const Json& object, absl::string_view name);
// The member `name` of `object`, or null.
const Json& Member(const Json& object, absl::string_view name);

// What a todo call does to its list.
enum class TodoCallKind {
  kReplace,  // the whole list: `todos`
  kCreate,   // one task: `subject`
  kUpdate,   // one task: `taskId`
};

// How a todo call ended.
struct TodoOutcome {
  bool is_error = false;
  std::string text;
  // With kCreate: the new task's id. Empty: the next number.
  std::string task_id;
};

// Makes the events of the sessions of one recording: opens sessions, spawns agents, keeps turns apart, gives ids,
// repairs and judges lists. What the parsers of all formats share.
//
// A list is written where its call stands, with the call's time, once the outcome is known: until then the session's
// later events are held back (in a bounded queue; when it is full or a person speaks, the call counts as accepted). So
// a recording that has grown gives the same events again and then more. Outcomes of one agent's calls take effect in
// the order in which they arrive. Not thread-safe.
class SessionRecorder {
 public:
  SessionRecorder(std::string format, ParserOptions options, std::function<void(ParsedEvent)> sink);
  ~SessionRecorder();

  // A line was fed.
  // Counts a line and gives each JSON object on it, with its text, to `entry`. What is no JSON costs itself alone and
  // is noted.
  void ReadLine(absl::string_view line, absl::FunctionRef<void(const nlohmann::json&, absl::string_view)> entry);
  void NoteRepaired(absl::string_view text);
  void NoteSkipped(absl::string_view text);

  // What follows stems from this entry: its session (opened if new), its key (empty: its ordinal) and its time.
  // False, with a note: the session's id cannot be one, or the same entry came before with the same content.
  bool BeginEntry(absl::string_view session_id, absl::string_view key, std::optional<absl::Time> at,
                  absl::string_view content);

  bool HasAgent(absl::string_view agent) const;
  // Spawns `agent` if it is new and not main.
  void EnsureAgent(absl::string_view agent, absl::string_view parent, absl::string_view call_id,
                   absl::string_view display_name);
  // Ends the open turn and starts another.
  void StartTurn(absl::string_view agent, v1::TurnOrigin origin);
  // Ends the open turn, if any.
  void EndTurn(absl::string_view agent, v1::TurnEndReason reason, absl::string_view message);
  // The agent was interrupted: its open turn will have ended so.
  void MarkInterrupted(absl::string_view agent);

  // The first thing that a person says in a turn of `main` becomes the session's title.
  void Say(absl::string_view agent, log::v1::Message message);
  // False: the agent has made a call of that id before, and this one was skipped.
  bool Call(absl::string_view agent, absl::string_view call_id, absl::string_view tool,
            absl::string_view arguments_json);
  void Result(absl::string_view agent, absl::string_view call_id, bool is_error, absl::string_view text,
              absl::string_view structured_json);

  // The call just made is a todo call.
  void BeginTodo(absl::string_view agent, absl::string_view call_id, absl::string_view tool, TodoCallKind kind,
                 Json input);
  // Whether that call has no outcome yet.
  bool IsPendingTodo(absl::string_view agent, absl::string_view call_id) const;
  bool HasPendingTodo(absl::string_view agent) const;
  void EndTodo(absl::string_view agent, absl::string_view call_id, TodoOutcome outcome);

  void Finish();
  const ImportReport& report() const { return report_; }

 private:
  struct Session;
  struct Agent;
  struct PendingTodo;
  struct Held;

  Agent& AgentOf(absl::string_view agent);
  // An event of the current entry with id, time and agent.
  log::v1::SessionEvent NewEvent(absl::string_view agent, absl::string_view part);
  // An event that its session, or the agent in it, has only once: the same one from every file that tells of it.
  log::v1::SessionEvent NewOnlyEvent(absl::string_view agent, absl::string_view part);
  void Put(log::v1::SessionEvent event);
  void Emit(const Session& session, log::v1::SessionEvent event, absl::Time at);
  void Flush(Session* session);
  void AcceptPending(Session* session, absl::string_view agent);
  void Resolve(Session* session, PendingTodo pending, const TodoOutcome& outcome);
  // The event for an accepted or refused call; nothing if it changes no list.
  bool Judge(Session* session, const PendingTodo& pending, const TodoOutcome& outcome, log::v1::SessionEvent* event);
  std::string SafeId(absl::string_view id, absl::string_view what);

  const std::string format_;
  const ParserOptions options_;
  const std::function<void(ParsedEvent)> sink_;
  ImportReport report_;
  std::map<std::string, std::unique_ptr<Session>, std::less<>> sessions_;
  std::vector<Session*> order_;
  Session* current_ = nullptr;
  std::string key_;
  std::string repeat_;
  int64_t part_ = 0;
};

}  // namespace docket::harness

#endif  // DOCKET_CLIENTS_HARNESS_SESSION_RECORDER_H_
