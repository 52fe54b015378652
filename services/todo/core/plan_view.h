#ifndef DOCKET_SERVICES_TODO_CORE_PLAN_VIEW_H_
#define DOCKET_SERVICES_TODO_CORE_PLAN_VIEW_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "docket/todo/v1/todo.pb.h"
#include "services/todo/core/plan_fold.h"
#include "services/todo/core/policy.h"

// What stands: a fold's facts as a tenant's policy shows them. Pure functions.

namespace docket::todo {

using TodoItems = google::protobuf::RepeatedPtrField<v1::TodoItem>;

// COMPLETED or CANCELLED.
bool IsFinished(v1::TodoStatus status);

// How many items have which status.
v1::TodoCounts CountItems(const TodoItems& items);

// Whether there are items and every one is finished. False for an empty list.
bool AllFinished(const TodoItems& items);

// Which of the possible plans `agent` has.
v1::PlanState PlanStateOf(const PlanFold& agent, const Policy& policy);

// The items that stand: those of the newest list, none if it was cleared or never written. Valid as long as `agent`.
const TodoItems& StandingItems(const PlanFold& agent, const Policy& policy);

// The plan of `agent_id`; nothing if the session is erased, not open yet, or has no such agent.
std::optional<v1::Plan> PlanView(const SessionFold& fold, absl::string_view agent_id, const Policy& policy);

// The error for a plan that PlanView() does not give: SESSION_NOT_FOUND, SESSION_ERASED or PLAN_NOT_FOUND.
absl::Status NoPlanError(const SessionFold& fold, absl::string_view agent_id);

}  // namespace docket::todo

#endif  // DOCKET_SERVICES_TODO_CORE_PLAN_VIEW_H_
