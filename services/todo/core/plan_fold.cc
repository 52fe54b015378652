#include "services/todo/core/plan_fold.h"

#include <algorithm>
#include <tuple>

#include "google/protobuf/util/message_differencer.h"
#include "services/common/proto_time.h"

namespace docket::todo {
namespace {

using Event = log::v1::SessionEvent;

bool IsSessionEvent(Event::EventCase type) {
  return type == Event::kSessionOpened || type == Event::kSessionUpdated || type == Event::kSessionClosed ||
         type == Event::kSessionErased;
}

bool IsAgentEvent(Event::EventCase type) {
  return type == Event::kAgentSpawned || type == Event::kTurnStarted || type == Event::kTurnEnded ||
         type == Event::kTodoWritten;
}

bool IsSessionType(log::v1::EventType type) {
  return IsSessionEvent(static_cast<Event::EventCase>(type));
}

bool IsAgentType(log::v1::EventType type) {
  return IsAgentEvent(static_cast<Event::EventCase>(type));
}

void EndTurn(TurnFacts& turn, int64_t seq, absl::Time at, docket::v1::TurnEndReason reason) {
  turn.ended_seq = seq;
  turn.end_reason = reason;
  turn.ended_at = at;
}

TurnFacts TurnOf(const log::v1::TurnSummary& summary) {
  TurnFacts turn;
  turn.turn_id = summary.turn_id();
  turn.started_seq = summary.started_seq();
  turn.origin = summary.origin();
  turn.started_at = FromProto(summary.started_at());
  if (summary.ended_seq() > 0) EndTurn(turn, summary.ended_seq(), FromProto(summary.ended_at()), summary.end_reason());
  return turn;
}

bool SameList(const PlanFold& a, const PlanFold& b) {
  if (a.list == b.list) return true;
  if (a.list == nullptr || b.list == nullptr) return false;
  return google::protobuf::util::MessageDifferencer::Equals(*a.list, *b.list);
}

}  // namespace

bool operator==(const TurnFacts& a, const TurnFacts& b) {
  const auto tie = [](const TurnFacts& turn) {
    return std::tie(turn.turn_id, turn.started_seq, turn.origin, turn.started_at, turn.ended_seq, turn.end_reason,
                    turn.ended_at);
  };
  return tie(a) == tie(b);
}

bool operator==(const PlanFold& a, const PlanFold& b) {
  const auto tie = [](const PlanFold& plan) {
    return std::tie(plan.agent_id, plan.parent_agent_id, plan.spawn_call_id, plan.display_name, plan.spawned_at,
                    plan.own_seq, plan.own_at, plan.list_seq, plan.list_at, plan.list_turn_seq, plan.turn);
  };
  return tie(a) == tie(b) && SameList(a, b);
}

bool operator==(const SessionFold& a, const SessionFold& b) {
  const auto tie = [](const SessionFold& fold) {
    return std::tie(fold.tenant_id_, fold.session_id_, fold.state_, fold.title_, fold.labels_, fold.parent_session_id_,
                    fold.opened_at_, fold.session_seq_, fold.session_at_, fold.agents_);
  };
  return tie(a) == tie(b);
}

int64_t PlanFold::JudgedSeq() const {
  return std::max(list_seq, turn.has_value() ? turn->started_seq : 0);
}

SessionFold::SessionFold(absl::string_view tenant_id, absl::string_view session_id)
    : tenant_id_(tenant_id), session_id_(session_id) {}

SessionFold SessionFold::FromSummary(const log::v1::SessionSummary& summary,
                                     const std::vector<log::v1::RecordedEvent>& latest_events) {
  SessionFold fold(summary.tenant_id(), summary.session_id());
  fold.state_ = summary.state();
  if (fold.state_ == log::v1::SESSION_STATE_ERASED) {
    fold.session_seq_ = summary.head_seq();
    fold.session_at_ = FromProto(summary.last_activity());
    return fold;
  }
  fold.title_ = summary.title();
  fold.labels_.insert(summary.labels().begin(), summary.labels().end());
  fold.parent_session_id_ = summary.parent_session_id();
  if (summary.has_opened_at()) fold.opened_at_ = FromProto(summary.opened_at());
  for (const auto& latest : summary.latest()) {
    if (IsSessionType(latest.type())) fold.session_seq_ = std::max(fold.session_seq_, latest.seq());
  }
  if (fold.session_seq_ > 0) fold.AgentOf(kMainAgent);
  for (const auto& agent : summary.agents()) fold.LoadAgent(agent);
  for (const auto& event : latest_events) fold.LoadEvent(event);
  return fold;
}

void SessionFold::LoadAgent(const log::v1::AgentSummary& summary) {
  // An agent of the log is one of the fold's only if one of its plan events made it so.
  int64_t own_seq = 0;
  for (const auto& latest : summary.latest()) {
    if (IsAgentType(latest.type())) own_seq = std::max(own_seq, latest.seq());
  }
  if (own_seq == 0) return;
  PlanFold& agent = AgentOf(summary.agent_id());
  agent.own_seq = own_seq;
  agent.parent_agent_id = summary.parent_agent_id();
  agent.spawn_call_id = summary.spawn_call_id();
  agent.display_name = summary.display_name();
  agent.list_turn_seq = summary.list_turn_seq();
  if (summary.has_turn()) agent.turn = TurnOf(summary.turn());
}

// Takes from one of the newest events what the summary does not tell: when it was, and the list.
void SessionFold::LoadEvent(const log::v1::RecordedEvent& event) {
  const absl::Time at = FromProto(event.recorded_at());
  if (IsSessionEvent(event.event().event_case())) {
    if (event.seq() == session_seq_) session_at_ = at;
    return;
  }
  const auto found = index_.find(event.event().agent_id());
  if (found == index_.end()) return;
  PlanFold& agent = agents_[found->second];
  if (IsAgentEvent(event.event().event_case()) && event.seq() == agent.own_seq) agent.own_at = at;
  if (event.event().has_agent_spawned()) agent.spawned_at = at;
  if (event.event().has_todo_written() && event.seq() > agent.list_seq) {
    agent.list = std::make_shared<const v1::TodoWritten>(event.event().todo_written());
    agent.list_seq = event.seq();
    agent.list_at = at;
  }
}

std::vector<std::string> SessionFold::Apply(const log::v1::RecordedEvent& recorded) {
  const Event& event = recorded.event();
  if (recorded.tenant_id() != tenant_id_ || recorded.session_id() != session_id_) return {};
  if (state_ == log::v1::SESSION_STATE_ERASED) return {};
  const absl::Time at = FromProto(recorded.recorded_at());
  if (IsSessionEvent(event.event_case())) {
    if (recorded.seq() <= session_seq_) return {};
    std::vector<std::string> changed;
    if (event.has_session_opened()) AgentOf(kMainAgent);
    changed.reserve(agents_.size());
    for (const PlanFold& agent : agents_) changed.push_back(agent.agent_id);
    session_seq_ = recorded.seq();
    session_at_ = at;
    ApplyToSession(event, recorded.seq(), at);
    return changed;
  }
  if (!IsAgentEvent(event.event_case()) || event.agent_id().empty()) return {};
  const PlanFold* known = FindAgent(event.agent_id());
  if (known != nullptr && recorded.seq() <= known->own_seq) return {};
  PlanFold& agent = AgentOf(event.agent_id());
  agent.own_seq = recorded.seq();
  agent.own_at = at;
  ApplyToAgent(event, recorded.seq(), at, agent);
  return {agent.agent_id};
}

void SessionFold::ApplyToSession(const Event& event, int64_t seq, absl::Time at) {
  switch (event.event_case()) {
    case Event::kSessionOpened:
      return Open(event.session_opened(), at);
    case Event::kSessionUpdated: {
      const auto& updated = event.session_updated();
      if (updated.has_title()) title_ = updated.title();
      for (const auto& key : updated.remove_labels()) labels_.erase(key);
      for (const auto& [key, value] : updated.set_labels()) labels_[key] = value;
      return;
    }
    case Event::kSessionClosed:
      return Close(seq, at);
    case Event::kSessionErased:
      return Erase();
    default:
      return;
  }
}

void SessionFold::Open(const log::v1::SessionOpened& opened, absl::Time at) {
  // A reopening keeps what it does not tell.
  const bool first = state_ == log::v1::SESSION_STATE_UNSPECIFIED;
  state_ = log::v1::SESSION_STATE_OPEN;
  if (!opened_at_.has_value()) opened_at_ = at;
  if (first || !opened.title().empty()) title_ = opened.title();
  if (first || !opened.labels().empty()) labels_ = {opened.labels().begin(), opened.labels().end()};
  if (first || !opened.parent_session_id().empty()) parent_session_id_ = opened.parent_session_id();
}

void SessionFold::Close(int64_t seq, absl::Time at) {
  state_ = log::v1::SESSION_STATE_CLOSED;
  for (PlanFold& agent : agents_) {
    if (agent.HasOpenTurn()) EndTurn(*agent.turn, seq, at, docket::v1::TURN_END_REASON_INTERRUPTED);
  }
}

void SessionFold::Erase() {
  state_ = log::v1::SESSION_STATE_ERASED;
  title_.clear();
  labels_.clear();
  parent_session_id_.clear();
  opened_at_.reset();
  agents_.clear();
  index_.clear();
}

void SessionFold::ApplyToAgent(const Event& event, int64_t seq, absl::Time at, PlanFold& agent) {
  switch (event.event_case()) {
    case Event::kAgentSpawned:
      agent.parent_agent_id = event.agent_spawned().parent_agent_id();
      agent.spawn_call_id = event.agent_spawned().call_id();
      agent.display_name = event.agent_spawned().display_name();
      agent.spawned_at = at;
      return;
    case Event::kTurnStarted:
      // A turn that is still open ends here, interrupted; only the newest turn is kept.
      agent.turn = TurnFacts{};
      agent.turn->turn_id = event.turn_started().turn_id();
      agent.turn->started_seq = seq;
      agent.turn->origin = event.turn_started().origin();
      agent.turn->started_at = at;
      if (agent.list != nullptr && agent.list_turn_seq == 0) agent.list_turn_seq = seq;
      return;
    case Event::kTurnEnded:
      if (agent.HasOpenTurn()) EndTurn(*agent.turn, seq, at, event.turn_ended().reason());
      return;
    case Event::kTodoWritten:
      agent.list = std::make_shared<const v1::TodoWritten>(event.todo_written());
      agent.list_seq = seq;
      agent.list_at = at;
      agent.list_turn_seq = agent.HasOpenTurn() ? agent.turn->started_seq : 0;
      return;
    default:
      return;
  }
}

const PlanFold* SessionFold::FindAgent(absl::string_view agent_id) const {
  const auto found = index_.find(agent_id);
  return found == index_.end() ? nullptr : &agents_[found->second];
}

PlanFold& SessionFold::AgentOf(absl::string_view agent_id) {
  const auto [found, is_new] = index_.emplace(std::string(agent_id), agents_.size());
  if (is_new) {
    agents_.emplace_back();
    agents_.back().agent_id = std::string(agent_id);
  }
  return agents_[found->second];
}

int64_t SessionFold::Revision(const PlanFold& agent) const {
  return std::max(agent.own_seq, session_seq_);
}

absl::Time SessionFold::ChangedAt(const PlanFold& agent) const {
  return agent.own_seq > session_seq_ ? agent.own_at : session_at_;
}

size_t SessionFold::EstimatedBytes() const {
  size_t bytes = sizeof(*this) + title_.size() + tenant_id_.size() + session_id_.size() + parent_session_id_.size();
  for (const auto& [key, value] : labels_) bytes += key.size() + value.size() + 96;
  for (const PlanFold& agent : agents_) {
    bytes += sizeof(agent) + 3 * agent.agent_id.size() + agent.display_name.size() + agent.spawn_call_id.size() + 64;
    if (agent.turn.has_value()) bytes += agent.turn->turn_id.size();
    if (agent.list != nullptr) bytes += agent.list->SpaceUsedLong();
  }
  return bytes;
}

const std::vector<log::v1::EventType>& PlanEventTypes() {
  static const auto* const kTypes = new std::vector<log::v1::EventType>{
      log::v1::EVENT_TYPE_SESSION_OPENED, log::v1::EVENT_TYPE_SESSION_UPDATED, log::v1::EVENT_TYPE_SESSION_CLOSED,
      log::v1::EVENT_TYPE_SESSION_ERASED, log::v1::EVENT_TYPE_AGENT_SPAWNED,   log::v1::EVENT_TYPE_TURN_STARTED,
      log::v1::EVENT_TYPE_TURN_ENDED,     log::v1::EVENT_TYPE_TODO_WRITTEN};
  return *kTypes;
}

}  // namespace docket::todo
