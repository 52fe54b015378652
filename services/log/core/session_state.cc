#include "services/log/core/session_state.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "services/common/errors.h"
#include "services/common/log.h"
#include "services/common/proto_time.h"
#include "services/common/status_macros.h"
#include "services/log/core/event_shape.h"
#include "services/log/core/limits.h"

namespace docket::log {
namespace {

constexpr char kMain[] = "main";

void Note(google::protobuf::RepeatedPtrField<v1::LatestEvent>& latest, int32_t type, Seq seq) {
  int at = 0;
  while (at < latest.size() && static_cast<int>(latest[at].type()) < type) ++at;
  if (at == latest.size() || static_cast<int>(latest[at].type()) != type) {
    latest.Add()->set_type(static_cast<v1::EventType>(type));
    for (int i = latest.size() - 1; i > at; --i) latest.SwapElements(i, i - 1);
  }
  latest[at].set_seq(seq.value);
}

bool HasOpenTurn(const v1::AgentSummary& agent) {
  return agent.has_turn() && agent.turn().ended_seq() == 0;
}

void EndTurn(v1::AgentSummary& agent, Seq seq, absl::Time at, docket::v1::TurnEndReason reason) {
  agent.mutable_turn()->set_ended_seq(seq.value);
  agent.mutable_turn()->set_end_reason(reason);
  *agent.mutable_turn()->mutable_ended_at() = ToProto(at);
}

absl::Status Invalid(absl::string_view prefix, absl::string_view field, absl::string_view text) {
  return FieldError(docket::v1::ERROR_REASON_INVALID_EVENT, absl::StrCat(prefix, ".", field), text);
}

bool IsOwnType(const v1::SessionEvent& event) {
  return event.has_session_opened() || event.has_session_updated() || event.has_session_closed() ||
         event.has_session_erased();
}

// Whether the actor of a list may write between turns.
bool MayWriteBetweenTurns(const v1::SessionEvent& event) {
  const auto kind = event.todo_written().actor().kind();
  return kind == todo::v1::ACTOR_KIND_USER || kind == todo::v1::ACTOR_KIND_SYSTEM;
}

}  // namespace

SessionState::SessionState(absl::string_view tenant_id, absl::string_view session_id) {
  summary_.set_tenant_id(std::string(tenant_id));
  summary_.set_session_id(std::string(session_id));
}

SessionState SessionState::FromRow(const SessionRow& row) {
  SessionState state(row.tenant_id, row.session_id);
  if (row.checkpoint_seq.value > 0) {
    v1::SessionSummary summary;
    // A row that cannot be read is as good as none: the events after seq 0 are applied.
    if (summary.ParseFromString(row.state) && summary.head_seq() == row.checkpoint_seq.value)
      state.summary_ = std::move(summary);
  }
  state.pk_ = row.pk;
  return state;
}

SessionRow SessionState::ToRow() const {
  return {pk_, summary_.tenant_id(), summary_.session_id(), head(), summary_.SerializeAsString()};
}

const v1::AgentSummary* SessionState::FindAgent(absl::string_view agent_id) const {
  for (const auto& agent : summary_.agents()) {
    if (agent.agent_id() == agent_id) return &agent;
  }
  return nullptr;
}

v1::AgentSummary& SessionState::AgentOf(absl::string_view agent_id) {
  for (auto& agent : *summary_.mutable_agents()) {
    if (agent.agent_id() == agent_id) return agent;
  }
  auto& agent = *summary_.add_agents();
  agent.set_agent_id(std::string(agent_id));
  return agent;
}

absl::Status SessionState::Check(const v1::SessionEvent& event, absl::string_view prefix) const {
  const ErrorMetadata session = {{"session_id", summary_.session_id()}};
  if (summary_.head_seq() == 0 && !event.has_session_opened()) {
    return MakeError(docket::v1::ERROR_REASON_SESSION_NOT_FOUND,
                     "there is no such session; the first event of a session is its SessionOpened", session);
  }
  if (summary_.state() == v1::SESSION_STATE_ERASED) {
    return MakeError(docket::v1::ERROR_REASON_SESSION_ERASED, "the session was erased; its id is not used again",
                     session);
  }
  if (summary_.state() == v1::SESSION_STATE_CLOSED && !event.has_session_opened()) {
    return MakeError(docket::v1::ERROR_REASON_SESSION_CLOSED, "the session is closed; only a SessionOpened may follow",
                     session);
  }
  if (IsOwnType(event)) return CheckOwnEvent(event, prefix);
  if (event.has_agent_spawned()) return CheckSpawn(event, prefix);
  if (event.agent_id().empty()) return absl::OkStatus();  // the shape allows it for third parties only
  if (event.agent_id() != kMain && FindAgent(event.agent_id()) == nullptr) {
    return MakeError(docket::v1::ERROR_REASON_AGENT_UNKNOWN,
                     "the session has no such agent; an agent is spawned before it acts",
                     {{"agent_id", event.agent_id()}});
  }
  if (event.has_turn_started()) return CheckTurnStart(event, prefix);
  return CheckInTurn(event, prefix);
}

absl::Status SessionState::CheckOwnEvent(const v1::SessionEvent& event, absl::string_view prefix) const {
  if (event.has_session_opened() && summary_.state() == v1::SESSION_STATE_OPEN) {
    return MakeError(docket::v1::ERROR_REASON_REVISION_CONFLICT, "the session is open already",
                     {{"expected", "0"}, {"actual", absl::StrCat(summary_.head_seq())}});
  }
  if (event.has_session_erased()) return Invalid(prefix, "session_erased", "only docket-log itself writes this event");
  if (event.has_session_updated()) {
    auto labels = summary_.labels();
    for (const auto& key : event.session_updated().remove_labels()) labels.erase(key);
    for (const auto& [key, value] : event.session_updated().set_labels()) labels[key] = value;
    if (static_cast<int>(labels.size()) > kMaxLabels) {
      return Invalid(prefix, "session_updated.set_labels",
                     absl::StrCat("the session would have more than ", kMaxLabels, " labels"));
    }
  }
  return absl::OkStatus();
}

absl::Status SessionState::CheckSpawn(const v1::SessionEvent& event, absl::string_view prefix) const {
  if (event.agent_id() == kMain) return Invalid(prefix, "agent_id", "the agent `main` is never spawned");
  if (FindAgent(event.agent_id()) != nullptr)
    return Invalid(prefix, "agent_id", "an agent of that id was spawned in this session already");
  const std::string& parent = event.agent_spawned().parent_agent_id();
  if (parent != kMain && FindAgent(parent) == nullptr) {
    return MakeError(docket::v1::ERROR_REASON_AGENT_UNKNOWN, "the session has no such parent agent",
                     {{"agent_id", parent}});
  }
  if (summary_.agents_size() >= kMaxAgents) {
    return Invalid(prefix, "agent_spawned", absl::StrCat("a session has at most ", kMaxAgents, " agents"));
  }
  return absl::OkStatus();
}

absl::Status SessionState::CheckTurnStart(const v1::SessionEvent& event, absl::string_view prefix) const {
  const v1::AgentSummary* agent = FindAgent(event.agent_id());
  const bool open = agent != nullptr && HasOpenTurn(*agent);
  const std::string& supersedes = event.turn_started().supersedes();
  if (agent != nullptr && agent->has_turn() && agent->turn().turn_id() == event.turn_started().turn_id()) {
    return Invalid(prefix, "turn_started.turn_id", "the agent's turn before has the same id");
  }
  const bool implicit = open && agent->turn().origin() == docket::v1::TURN_ORIGIN_IMPLICIT;
  if (open && supersedes != agent->turn().turn_id() && !(implicit && supersedes.empty())) {
    const auto& turn = agent->turn();
    return MakeError(
        docket::v1::ERROR_REASON_TURN_OPEN,
        absl::StrCat("the agent's turn ", turn.turn_id(), " is open; end it, or name it in `supersedes` after a crash"),
        {{"turn_id", turn.turn_id()},
         {"seq", absl::StrCat(turn.started_seq())},
         {"started_at", absl::FormatTime(FromProto(turn.started_at()), absl::UTCTimeZone())}});
  }
  if (!open && !supersedes.empty()) {
    return MakeError(docket::v1::ERROR_REASON_NO_OPEN_TURN, "the turn that `supersedes` names is not open",
                     {{"turn_id", supersedes}});
  }
  return absl::OkStatus();
}

absl::Status SessionState::CheckInTurn(const v1::SessionEvent& event, absl::string_view) const {
  const v1::AgentSummary* agent = FindAgent(event.agent_id());
  const bool open = agent != nullptr && HasOpenTurn(*agent);
  const ErrorMetadata metadata = {{"agent_id", event.agent_id()}};
  if (event.has_turn_ended() && (!open || agent->turn().turn_id() != event.turn_ended().turn_id())) {
    return WithMetadata(
        MakeError(docket::v1::ERROR_REASON_NO_OPEN_TURN,
                  open ? absl::StrCat("the open turn is ", agent->turn().turn_id()) : "the agent has no open turn",
                  metadata),
        "turn_id", event.turn_ended().turn_id());
  }
  if (event.has_todo_written() && !open && !MayWriteBetweenTurns(event)) {
    return MakeError(
        docket::v1::ERROR_REASON_NO_OPEN_TURN,
        "the agent has no open turn; what the model writes lies inside one (a USER or SYSTEM may write between turns)",
        metadata);
  }
  return absl::OkStatus();
}

void SessionState::Apply(Seq seq, absl::Time recorded_at, const v1::SessionEvent& event) {
  if (seq.value <= summary_.head_seq()) return;
  summary_.set_head_seq(seq.value);
  *summary_.mutable_last_activity() = ToProto(recorded_at);
  if (!summary_.has_opened_at()) *summary_.mutable_opened_at() = ToProto(recorded_at);
  if (event.agent_id().empty()) {
    Note(*summary_.mutable_latest(), TypeOf(event), seq);
    ApplyOwn(seq, recorded_at, event);
    return;
  }
  v1::AgentSummary& agent = AgentOf(event.agent_id());
  Note(*agent.mutable_latest(), TypeOf(event), seq);
  *agent.mutable_last_activity() = ToProto(recorded_at);
  ApplyAgent(seq, recorded_at, event, agent);
}

void SessionState::ApplyOwn(Seq seq, absl::Time recorded_at, const v1::SessionEvent& event) {
  if (event.has_session_opened()) {
    const auto& opened = event.session_opened();
    const bool first = summary_.state() == v1::SESSION_STATE_UNSPECIFIED;
    summary_.set_state(v1::SESSION_STATE_OPEN);
    if (first || !opened.title().empty()) summary_.set_title(opened.title());
    if (first || !opened.labels().empty()) *summary_.mutable_labels() = opened.labels();
    if (first || !opened.parent_session_id().empty()) summary_.set_parent_session_id(opened.parent_session_id());
    if (opened.has_continues()) *summary_.mutable_continues() = opened.continues();
    if (opened.has_forked_from()) *summary_.mutable_forked_from() = opened.forked_from();
  } else if (event.has_session_updated()) {
    const auto& updated = event.session_updated();
    if (updated.has_title()) summary_.set_title(updated.title());
    for (const auto& key : updated.remove_labels()) summary_.mutable_labels()->erase(key);
    for (const auto& [key, value] : updated.set_labels()) (*summary_.mutable_labels())[key] = value;
  } else if (event.has_session_closed()) {
    summary_.set_state(v1::SESSION_STATE_CLOSED);
    for (auto& agent : *summary_.mutable_agents()) {
      if (HasOpenTurn(agent)) EndTurn(agent, seq, recorded_at, docket::v1::TURN_END_REASON_INTERRUPTED);
    }
  } else if (event.has_session_erased()) {
    summary_.set_state(v1::SESSION_STATE_ERASED);
    summary_.clear_title();
    summary_.clear_labels();
    summary_.clear_agents();
  }
}

void SessionState::ApplyAgent(Seq seq, absl::Time recorded_at, const v1::SessionEvent& event, v1::AgentSummary& agent) {
  if (event.has_agent_spawned()) {
    agent.set_parent_agent_id(event.agent_spawned().parent_agent_id());
    agent.set_spawn_call_id(event.agent_spawned().call_id());
    agent.set_display_name(event.agent_spawned().display_name());
  } else if (event.has_turn_started()) {
    auto& turn = *agent.mutable_turn();
    turn.Clear();
    turn.set_turn_id(event.turn_started().turn_id());
    turn.set_origin(event.turn_started().origin());
    turn.set_started_seq(seq.value);
    *turn.mutable_started_at() = ToProto(recorded_at);
    // A list that was written between turns belongs to the turn that follows.
    const int types[] = {v1::EVENT_TYPE_TODO_WRITTEN};
    if (agent.list_turn_seq() == 0 && Latest(agent.agent_id(), types).value > 0) agent.set_list_turn_seq(seq.value);
  } else if (event.has_turn_ended()) {
    if (HasOpenTurn(agent)) EndTurn(agent, seq, recorded_at, event.turn_ended().reason());
  } else if (event.has_todo_written()) {
    agent.set_list_turn_seq(HasOpenTurn(agent) ? agent.turn().started_seq() : 0);
  }
}

void SessionState::Apply(const StoredEvent& stored) {
  v1::SessionEvent event;
  if (!event.ParseFromString(stored.payload)) LogError("a stored event cannot be parsed");
  Apply(stored.seq, stored.recorded_at, event);
}

}  // namespace docket::log
