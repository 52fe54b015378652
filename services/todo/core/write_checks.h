#ifndef DOCKET_SERVICES_TODO_CORE_WRITE_CHECKS_H_
#define DOCKET_SERVICES_TODO_CORE_WRITE_CHECKS_H_

#include "absl/status/status.h"
#include "docket/todo/v1/todo_service.pb.h"
#include "services/todo/core/plan_fold.h"
#include "services/todo/core/policy.h"

// What must hold for a write besides its items: the request's own fields, who owns the plan, the version expected.
// Pure functions.

namespace docket::todo {

// The kind of actor that writes: what the request says, AGENT if it says nothing.
v1::ActorKind ActorKindOf(const v1::WriteTodosRequest& request);

// Whether actors of this kind report what the model wrote, so that their writes need an open turn.
bool SpeaksForModel(v1::ActorKind kind);

// OK if all fields of `request` but its items are well formed. Errors: INVALID_REQUEST with the field.
absl::Status CheckRequest(const v1::WriteTodosRequest& request);

// OK if the session and the agent can be written to. `fold` is null if the session does not exist. Errors:
// SESSION_NOT_FOUND (unless `open_session` is set), SESSION_ERASED, SESSION_CLOSED, AGENT_UNKNOWN; NO_OPEN_TURN if the
// actor speaks for the model, the agent has no open turn and the policy opens none.
absl::Status CheckOwner(const v1::WriteTodosRequest& request, const SessionFold* fold, const Policy& policy);

// OK unless `expected_version` is set and the agent has a newer list. Errors: REVISION_CONFLICT (expected, actual).
absl::Status CheckExpectedVersion(const v1::WriteTodosRequest& request, const SessionFold* fold);

}  // namespace docket::todo

#endif  // DOCKET_SERVICES_TODO_CORE_WRITE_CHECKS_H_
