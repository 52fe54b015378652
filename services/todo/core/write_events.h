#ifndef DOCKET_SERVICES_TODO_CORE_WRITE_EVENTS_H_
#define DOCKET_SERVICES_TODO_CORE_WRITE_EVENTS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "docket/log/v1/log_service.pb.h"
#include "docket/todo/v1/todo_service.pb.h"
#include "services/common/event_id.h"
#include "services/todo/core/plan_fold.h"
#include "services/todo/core/policy.h"
#include "services/todo/core/todo_rules.h"

// What a judged write appends to the log. Pure functions.
//
// Retries: every event id is made of (session, agent, call id) and every content digest of the request, so a repeated
// call repeats its ids whatever has happened since. docket-log answers it from what it stored, as `deduplicated`. Where
// the surroundings changed in between, the repeat may be refused before it is recognised (by JudgeWrite(), CheckOwner()
// or CheckExpectedVersion(), or as PARTIAL_DUPLICATE because it now carries an implicit turn that the first call did
// not need). Then ask with ProbeRequest() before giving the refusal to the caller.

namespace docket::todo {

// The id of the TodoWritten of a call.
EventId TodoEventId(absl::string_view session_id, absl::string_view agent_id, absl::string_view call_id);

// SHA-256 of what the request asks for: mode, items, expected version, actor.
std::string RequestDigest(const v1::WriteTodosRequest& request);

// The append of a write: [SessionOpened if `fold` is null] [TurnStarted, IMPLICIT, if the policy has it, no turn is
// open and the actor speaks for the model] TodoWritten, always last. It succeeds only if the agent's newest TodoWritten
// or TurnStarted is still the one judged against, or the session is still missing; else REVISION_CONFLICT: judge again.
// CheckOwner() has passed.
log::v1::AppendRequest WriteRequest(const v1::WriteTodosRequest& request, const JudgedWrite& judged,
                                    const SessionFold* fold, const Policy& policy);

// An append that never stores anything: answered with the first call's seq and `deduplicated` if there was one with the
// same request, with EVENT_ID_REUSED if there was one with another, with REVISION_CONFLICT or SESSION_NOT_FOUND (or
// another refusal) if there was none.
log::v1::AppendRequest ProbeRequest(const v1::WriteTodosRequest& request);

// `status` as the caller of WriteTodos should see it: EVENT_ID_REUSED becomes CALL_ID_REUSED with the call id.
absl::Status FromAppendError(const v1::WriteTodosRequest& request, const absl::Status& status);

// Whether a refusal is about the content or the policy, so that it is recorded as a TodoRejected.
bool IsRecordedRefusal(const absl::Status& refusal);

// The append that records a refusal: one TodoRejected, without conditions. The same call with the same request gives
// the same event id, so a repeated refusal is stored once.
log::v1::AppendRequest RejectedRequest(const v1::WriteTodosRequest& request, const absl::Status& refusal);

}  // namespace docket::todo

#endif  // DOCKET_SERVICES_TODO_CORE_WRITE_EVENTS_H_
