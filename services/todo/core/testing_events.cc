#include "services/todo/core/testing_events.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "google/protobuf/text_format.h"
#include "services/common/log.h"
#include "services/common/proto_time.h"

namespace docket::todo {
namespace {

using Events = std::vector<log::v1::RecordedEvent>;

log::v1::SessionEvent EventOf(const std::string& agent) {
  log::v1::SessionEvent event;
  event.set_agent_id(agent);
  return event;
}

// The newest event of `agent` for which `matches` is true; null if there is none.
template <typename Matches>
const log::v1::RecordedEvent* Newest(const Events& events, const std::string& agent, int64_t before, Matches matches) {
  for (auto event = events.rbegin(); event != events.rend(); ++event) {
    if (event->seq() < before && event->event().agent_id() == agent && matches(event->event())) return &*event;
  }
  return nullptr;
}

template <typename Matches>
const log::v1::RecordedEvent* First(const Events& events, const std::string& agent, int64_t after, Matches matches) {
  for (const auto& event : events) {
    if (event.seq() > after && event.event().agent_id() == agent && matches(event.event())) return &event;
  }
  return nullptr;
}

bool Starts(const log::v1::SessionEvent& event) {
  return event.has_turn_started();
}

// The event that ended the turn of `agent` that began at `started`; null if it is open before `before`.
const log::v1::RecordedEvent* EndOf(const Events& events, const std::string& agent, int64_t started, int64_t before) {
  const auto* ended = First(events, agent, started,
                            [](const auto& event) { return event.has_turn_ended() || event.has_turn_started(); });
  const auto* closed = First(events, "", started, [](const auto& event) { return event.has_session_closed(); });
  const auto* end = ended == nullptr || (closed != nullptr && closed->seq() < ended->seq()) ? closed : ended;
  return end == nullptr || end->seq() >= before ? nullptr : end;
}

void SummarizeTurn(const Events& events, const std::string& agent, log::v1::AgentSummary& summary) {
  const auto* started = Newest(events, agent, INT64_MAX, Starts);
  if (started == nullptr) return;
  log::v1::TurnSummary& turn = *summary.mutable_turn();
  turn.set_turn_id(started->event().turn_started().turn_id());
  turn.set_started_seq(started->seq());
  turn.set_origin(started->event().turn_started().origin());
  *turn.mutable_started_at() = started->recorded_at();
  const auto* ended = EndOf(events, agent, started->seq(), INT64_MAX);
  if (ended == nullptr) return;
  turn.set_ended_seq(ended->seq());
  turn.set_end_reason(ended->event().has_turn_ended() ? ended->event().turn_ended().reason()
                                                      : docket::v1::TURN_END_REASON_INTERRUPTED);
  *turn.mutable_ended_at() = ended->recorded_at();
}

void SummarizeList(const Events& events, const std::string& agent, log::v1::AgentSummary& summary) {
  const auto* written = Newest(events, agent, INT64_MAX, [](const auto& event) { return event.has_todo_written(); });
  if (written == nullptr) return;
  const auto* turn = Newest(events, agent, written->seq(), Starts);
  if (turn == nullptr || EndOf(events, agent, turn->seq(), written->seq()) != nullptr) {
    turn = First(events, agent, written->seq(), Starts);
  }
  if (turn != nullptr) summary.set_list_turn_seq(turn->seq());
}

void Note(google::protobuf::RepeatedPtrField<log::v1::LatestEvent>& latest, const log::v1::RecordedEvent& event) {
  const auto type = static_cast<log::v1::EventType>(event.event().event_case());
  for (auto& known : latest) {
    if (known.type() == type) return known.set_seq(event.seq());
  }
  auto& added = *latest.Add();
  added.set_type(type);
  added.set_seq(event.seq());
}

log::v1::AgentSummary& AgentOf(log::v1::SessionSummary& summary, const std::string& agent_id) {
  for (auto& agent : *summary.mutable_agents()) {
    if (agent.agent_id() == agent_id) return agent;
  }
  summary.add_agents()->set_agent_id(agent_id);
  return *summary.mutable_agents()->rbegin();
}

void SummarizeSession(const log::v1::SessionEvent& event, log::v1::SessionSummary& summary) {
  if (event.has_session_opened()) {
    summary.set_state(log::v1::SESSION_STATE_OPEN);
    if (!event.session_opened().title().empty()) summary.set_title(event.session_opened().title());
    if (!event.session_opened().labels().empty()) *summary.mutable_labels() = event.session_opened().labels();
  }
  if (event.has_session_updated()) summary.set_title(event.session_updated().title());
  if (event.has_session_closed()) summary.set_state(log::v1::SESSION_STATE_CLOSED);
  if (event.has_session_erased()) summary.set_state(log::v1::SESSION_STATE_ERASED);
}

}  // namespace

log::v1::RecordedEvent Story::Append(const log::v1::SessionEvent& event) {
  log::v1::RecordedEvent recorded;
  recorded.set_tenant_id("t");
  recorded.set_session_id("s");
  recorded.set_seq(static_cast<int64_t>(events_.size()) + 1);
  recorded.set_position(recorded.seq() * 10);
  *recorded.mutable_recorded_at() = ToProto(absl::FromUnixSeconds(1'000'000 + recorded.seq()));
  *recorded.mutable_event() = event;
  events_.push_back(recorded);
  return recorded;
}

log::v1::RecordedEvent Story::Open(const std::string& title, const std::map<std::string, std::string>& labels) {
  log::v1::SessionEvent event;
  event.mutable_session_opened()->set_title(title);
  event.mutable_session_opened()->mutable_labels()->insert(labels.begin(), labels.end());
  return Append(event);
}

log::v1::RecordedEvent Story::Update(const std::string& title) {
  log::v1::SessionEvent event;
  event.mutable_session_updated()->set_title(title);
  return Append(event);
}

log::v1::RecordedEvent Story::Close() {
  log::v1::SessionEvent event;
  event.mutable_session_closed();
  return Append(event);
}

log::v1::RecordedEvent Story::Erase() {
  log::v1::SessionEvent event;
  event.mutable_session_erased();
  return Append(event);
}

log::v1::RecordedEvent Story::Spawn(const std::string& agent, const std::string& parent) {
  log::v1::SessionEvent event = EventOf(agent);
  event.mutable_agent_spawned()->set_parent_agent_id(parent);
  event.mutable_agent_spawned()->set_call_id("call of " + agent);
  event.mutable_agent_spawned()->set_display_name("The " + agent);
  return Append(event);
}

log::v1::RecordedEvent Story::Start(const std::string& agent, const std::string& turn, docket::v1::TurnOrigin origin,
                                    const std::string& supersedes) {
  log::v1::SessionEvent event = EventOf(agent);
  event.mutable_turn_started()->set_turn_id(turn);
  event.mutable_turn_started()->set_origin(origin);
  event.mutable_turn_started()->set_supersedes(supersedes);
  return Append(event);
}

log::v1::RecordedEvent Story::End(const std::string& agent, const std::string& turn, docket::v1::TurnEndReason reason) {
  log::v1::SessionEvent event = EventOf(agent);
  event.mutable_turn_ended()->set_turn_id(turn);
  event.mutable_turn_ended()->set_reason(reason);
  return Append(event);
}

log::v1::RecordedEvent Story::Say(const std::string& agent) {
  log::v1::SessionEvent event = EventOf(agent);
  event.mutable_message()->set_role(log::v1::MESSAGE_ROLE_USER);
  return Append(event);
}

log::v1::RecordedEvent Story::Write(const std::string& agent, const std::vector<std::string>& contents,
                                    v1::ActorKind actor) {
  std::vector<v1::TodoItem> items;
  for (const std::string& content : contents) items.push_back(MakeItem("id:" + content, content));
  return WriteItems(agent, items, actor);
}

log::v1::RecordedEvent Story::WriteItems(const std::string& agent, const std::vector<v1::TodoItem>& items,
                                         v1::ActorKind actor) {
  log::v1::SessionEvent event = EventOf(agent);
  event.mutable_todo_written()->mutable_items()->Add(items.begin(), items.end());
  event.mutable_todo_written()->set_call_id(absl::StrCat("call ", events_.size()));
  event.mutable_todo_written()->mutable_actor()->set_kind(actor);
  return Append(event);
}

SessionFold Story::Fold() const {
  SessionFold fold("t", "s");
  for (const auto& event : events_) fold.Apply(event);
  return fold;
}

v1::TodoItem MakeItem(const std::string& id, const std::string& content, v1::TodoStatus status,
                      const std::string& source_id) {
  v1::TodoItem item;
  item.set_item_id(id);
  item.set_source_id(source_id);
  item.set_content(content);
  item.set_status(status);
  return item;
}

log::v1::SessionSummary SummaryOf(const Events& events) {
  log::v1::SessionSummary summary;
  summary.set_tenant_id("t");
  summary.set_session_id("s");
  summary.set_head_seq(static_cast<int64_t>(events.size()));
  *summary.mutable_opened_at() = events.front().recorded_at();
  *summary.mutable_last_activity() = events.back().recorded_at();
  for (const auto& recorded : events) {
    const log::v1::SessionEvent& event = recorded.event();
    if (event.agent_id().empty()) {
      Note(*summary.mutable_latest(), recorded);
      SummarizeSession(event, summary);
      continue;
    }
    log::v1::AgentSummary& agent = AgentOf(summary, event.agent_id());
    Note(*agent.mutable_latest(), recorded);
    *agent.mutable_last_activity() = recorded.recorded_at();
    if (!event.has_agent_spawned()) continue;
    agent.set_parent_agent_id(event.agent_spawned().parent_agent_id());
    agent.set_spawn_call_id(event.agent_spawned().call_id());
    agent.set_display_name(event.agent_spawned().display_name());
  }
  for (auto& agent : *summary.mutable_agents()) {
    SummarizeTurn(events, agent.agent_id(), agent);
    SummarizeList(events, agent.agent_id(), agent);
  }
  if (summary.state() != log::v1::SESSION_STATE_ERASED) return summary;
  summary.clear_title();
  summary.clear_labels();
  summary.clear_agents();
  return summary;
}

Events LatestOf(const Events& events) {
  std::map<std::pair<std::string, int>, log::v1::RecordedEvent> latest;
  for (const auto& event : events) {
    const auto type = static_cast<log::v1::EventType>(event.event().event_case());
    const auto& types = PlanEventTypes();
    if (std::find(types.begin(), types.end(), type) == types.end()) continue;
    latest[{event.event().agent_id(), type}] = event;
  }
  if (!events.empty() && events.back().event().has_session_erased()) return {events.back()};
  Events newest;
  for (const auto& [key, event] : latest) newest.push_back(event);
  return newest;
}

Policy MakePolicy(const std::string& text) {
  v1::TodoPolicy values;
  values.set_parallel_in_progress(v1::PARALLEL_IN_PROGRESS_ALLOW);
  v1::TodoPolicy given;
  CrashUnless(google::protobuf::TextFormat::ParseFromString(text, &given), "the text of a test's policy is wrong");
  values.MergeFrom(given);
  absl::StatusOr<Policy> policy = Policy::Make(values);
  CrashUnless(policy.ok(), "a test's policy is wrong");
  return *policy;
}

}  // namespace docket::todo
