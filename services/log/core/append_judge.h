#ifndef DOCKET_SERVICES_LOG_CORE_APPEND_JUDGE_H_
#define DOCKET_SERVICES_LOG_CORE_APPEND_JUDGE_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "docket/log/v1/log_service.pb.h"
#include "services/log/core/event_store.h"
#include "services/log/core/session_state.h"

// Whether a request may be appended to a session. Pure functions.

namespace docket::log {

// OK if every precondition holds. Else REVISION_CONFLICT with the first one's `expected` and `actual`, and all that
// fail in PreconditionFailure.
absl::Status CheckPreconditions(const v1::AppendRequest& request, const SessionState& state);

// Judges the events of `request` from the `first`-th on as the next ones of the session, and applies them to `state`.
// On an error `state` is as it was. A session without events is given as a state without events.
absl::Status Judge(const v1::AppendRequest& request, int first, absl::Time now, SessionState& state);

// How many events of `request`, the first ones, are among those `stored` under the request's ids. Errors:
// EVENT_ID_REUSED, PARTIAL_DUPLICATE.
absl::StatusOr<int> KnownPrefix(const v1::AppendRequest& request, const std::vector<StoredEvent>& stored);

}  // namespace docket::log

#endif  // DOCKET_SERVICES_LOG_CORE_APPEND_JUDGE_H_
