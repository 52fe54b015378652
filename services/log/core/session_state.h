#ifndef DOCKET_SERVICES_LOG_CORE_SESSION_STATE_H_
#define DOCKET_SERVICES_LOG_CORE_SESSION_STATE_H_

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "docket/log/v1/event.pb.h"
#include "docket/log/v1/log_service.pb.h"
#include "services/log/core/event_store.h"
#include "services/log/core/ids.h"

namespace docket::log {

// What a session's events add up to, and which event may follow.
//
// Feed events to Apply() in ascending seq. The result depends on nothing else. Apply() is total: it never fails,
// whatever was stored; Check() says what may be stored next.
//
// Not thread-safe; a value.
class SessionState {
 public:
  // A session without events.
  SessionState(absl::string_view tenant_id, absl::string_view session_id);
  // As a row says; the events after `row.checkpoint_seq` are still to be applied.
  static SessionState FromRow(const SessionRow& row);
  SessionRow ToRow() const;

  SessionPk pk() const { return pk_; }
  void set_pk(SessionPk pk) { pk_ = pk; }
  Seq head() const { return Seq{summary_.head_seq()}; }
  const v1::SessionSummary& summary() const { return summary_; }

  // OK if `event` may come next. Its shape is right (event_shape.h). Errors: SESSION_NOT_FOUND (the first event is no
  // SessionOpened), REVISION_CONFLICT (an open session is opened), SESSION_CLOSED, SESSION_ERASED, AGENT_UNKNOWN,
  // NO_OPEN_TURN, TURN_OPEN, INVALID_EVENT. `prefix` is the event's path in its request.
  absl::Status Check(const v1::SessionEvent& event, absl::string_view prefix) const;

  void Apply(Seq seq, absl::Time recorded_at, const v1::SessionEvent& event);
  // A payload that cannot be parsed any more is applied as an event of no known type.
  void Apply(const StoredEvent& stored);

  // The newest seq among events of these types of this agent (empty: the session's own). 0: there is none.
  template <typename Types>
  Seq Latest(absl::string_view agent_id, const Types& types) const;

 private:
  const v1::AgentSummary* FindAgent(absl::string_view agent_id) const;
  v1::AgentSummary& AgentOf(absl::string_view agent_id);
  absl::Status CheckOwnEvent(const v1::SessionEvent& event, absl::string_view prefix) const;
  absl::Status CheckSpawn(const v1::SessionEvent& event, absl::string_view prefix) const;
  absl::Status CheckTurnStart(const v1::SessionEvent& event, absl::string_view prefix) const;
  absl::Status CheckInTurn(const v1::SessionEvent& event, absl::string_view prefix) const;
  void ApplyOwn(Seq seq, absl::Time recorded_at, const v1::SessionEvent& event);
  void ApplyAgent(Seq seq, absl::Time recorded_at, const v1::SessionEvent& event, v1::AgentSummary& agent);

  SessionPk pk_;
  v1::SessionSummary summary_;
};

template <typename Types>
Seq SessionState::Latest(absl::string_view agent_id, const Types& types) const {
  const v1::AgentSummary* agent = agent_id.empty() ? nullptr : FindAgent(agent_id);
  if (!agent_id.empty() && agent == nullptr) return Seq{};
  int64_t newest = 0;
  for (const v1::LatestEvent& latest : agent != nullptr ? agent->latest() : summary_.latest()) {
    for (const auto type : types) {
      if (static_cast<int>(latest.type()) == static_cast<int>(type)) newest = std::max<int64_t>(newest, latest.seq());
    }
  }
  return Seq{newest};
}

}  // namespace docket::log

#endif  // DOCKET_SERVICES_LOG_CORE_SESSION_STATE_H_
