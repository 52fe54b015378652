#include "services/todo/core/plan_view.h"

#include <string>

#include "services/common/errors.h"
#include "services/common/proto_time.h"

namespace docket::todo {
namespace {

const TodoItems& NoItems() {
  static const auto* const kNone = new TodoItems();
  return *kNone;
}

v1::RunState RunStateOf(const SessionFold& fold, const PlanFold& agent) {
  if (fold.state() == log::v1::SESSION_STATE_CLOSED) return v1::RUN_STATE_SESSION_CLOSED;
  if (!agent.turn.has_value() || agent.turn->origin == docket::v1::TURN_ORIGIN_IMPLICIT) return v1::RUN_STATE_UNKNOWN;
  if (agent.turn->open()) return v1::RUN_STATE_TURN_OPEN;
  switch (agent.turn->end_reason) {
    case docket::v1::TURN_END_REASON_COMPLETED:
      return v1::RUN_STATE_TURN_COMPLETED;
    case docket::v1::TURN_END_REASON_FAILED:
      return v1::RUN_STATE_TURN_FAILED;
    case docket::v1::TURN_END_REASON_INTERRUPTED:
      return v1::RUN_STATE_TURN_INTERRUPTED;
    default:
      return v1::RUN_STATE_UNKNOWN;
  }
}

void SetTurn(const TurnFacts& turn, v1::PlanTurn& shown) {
  shown.set_turn_id(turn.turn_id);
  shown.set_seq(turn.started_seq);
  shown.set_origin(turn.origin);
  *shown.mutable_started_at() = ToProto(turn.started_at);
  if (!turn.open()) *shown.mutable_ended_at() = ToProto(turn.ended_at);
}

void SetSession(const SessionFold& fold, v1::Plan& plan) {
  plan.set_tenant_id(fold.tenant_id());
  plan.set_session_id(fold.session_id());
  plan.set_session_title(fold.title());
  plan.mutable_session_labels()->insert(fold.labels().begin(), fold.labels().end());
  plan.set_parent_session_id(fold.parent_session_id());
}

void SetAgent(const SessionFold& fold, const PlanFold& agent, v1::Plan& plan) {
  plan.set_agent_id(agent.agent_id);
  plan.set_agent_display_name(agent.display_name);
  plan.set_parent_agent_id(agent.parent_agent_id);
  plan.set_spawn_call_id(agent.spawn_call_id);
  plan.set_revision(fold.Revision(agent));
  *plan.mutable_changed_at() = ToProto(fold.ChangedAt(agent));
  const auto created_at = agent.agent_id == kMainAgent ? fold.opened_at() : agent.spawned_at;
  if (created_at.has_value()) *plan.mutable_created_at() = ToProto(*created_at);
  plan.set_run_state(RunStateOf(fold, agent));
  if (agent.turn.has_value()) SetTurn(*agent.turn, *plan.mutable_turn());
}

void SetList(const PlanFold& agent, const Policy& policy, v1::Plan& plan) {
  plan.set_state(PlanStateOf(agent, policy));
  plan.mutable_counts();
  if (agent.list == nullptr) return;
  plan.set_version(agent.list_seq);
  *plan.mutable_items() = StandingItems(agent, policy);
  *plan.mutable_counts() = CountItems(agent.list->items());
  *plan.mutable_last_written_at() = ToProto(agent.list_at);
  *plan.mutable_last_actor() = agent.list->actor();
}

bool Exists(const SessionFold& fold) {
  return fold.state() == log::v1::SESSION_STATE_OPEN || fold.state() == log::v1::SESSION_STATE_CLOSED;
}

}  // namespace

bool IsFinished(v1::TodoStatus status) {
  return status == v1::TODO_STATUS_COMPLETED || status == v1::TODO_STATUS_CANCELLED;
}

v1::TodoCounts CountItems(const TodoItems& items) {
  v1::TodoCounts counts;
  for (const v1::TodoItem& item : items) {
    switch (item.status()) {
      case v1::TODO_STATUS_PENDING:
        counts.set_pending(counts.pending() + 1);
        break;
      case v1::TODO_STATUS_IN_PROGRESS:
        counts.set_in_progress(counts.in_progress() + 1);
        break;
      case v1::TODO_STATUS_COMPLETED:
        counts.set_completed(counts.completed() + 1);
        break;
      case v1::TODO_STATUS_CANCELLED:
        counts.set_cancelled(counts.cancelled() + 1);
        break;
      default:
        break;
    }
  }
  return counts;
}

bool AllFinished(const TodoItems& items) {
  for (const v1::TodoItem& item : items) {
    if (!IsFinished(item.status())) return false;
  }
  return !items.empty();
}

v1::PlanState PlanStateOf(const PlanFold& agent, const Policy& policy) {
  if (agent.list == nullptr) return v1::PLAN_STATE_NEVER_WRITTEN;
  const bool of_an_earlier_turn =
      agent.turn.has_value() && agent.list_turn_seq > 0 && agent.list_turn_seq < agent.turn->started_seq;
  if (policy.clear_on_turn_start() && of_an_earlier_turn) return v1::PLAN_STATE_CLEARED;
  if (agent.list->items().empty()) return v1::PLAN_STATE_EMPTY;
  if (policy.clear_when_all_completed() && AllFinished(agent.list->items())) return v1::PLAN_STATE_ALL_COMPLETED;
  return v1::PLAN_STATE_ACTIVE;
}

const TodoItems& StandingItems(const PlanFold& agent, const Policy& policy) {
  return PlanStateOf(agent, policy) == v1::PLAN_STATE_ACTIVE ? agent.list->items() : NoItems();
}

std::optional<v1::Plan> PlanView(const SessionFold& fold, absl::string_view agent_id, const Policy& policy) {
  const PlanFold* agent = Exists(fold) ? fold.FindAgent(agent_id) : nullptr;
  if (agent == nullptr) return std::nullopt;
  v1::Plan plan;
  SetSession(fold, plan);
  SetAgent(fold, *agent, plan);
  SetList(*agent, policy, plan);
  plan.set_policy_digest(policy.digest());
  return plan;
}

absl::Status NoPlanError(const SessionFold& fold, absl::string_view agent_id) {
  const ErrorMetadata metadata = {{"session_id", fold.session_id()}, {"agent_id", std::string(agent_id)}};
  if (fold.state() == log::v1::SESSION_STATE_ERASED) {
    return MakeError(docket::v1::ERROR_REASON_SESSION_ERASED, "the session was erased", metadata);
  }
  if (!Exists(fold)) return MakeError(docket::v1::ERROR_REASON_SESSION_NOT_FOUND, "there is no such session", metadata);
  return MakeError(docket::v1::ERROR_REASON_PLAN_NOT_FOUND, "the session has no such agent", metadata);
}

}  // namespace docket::todo
