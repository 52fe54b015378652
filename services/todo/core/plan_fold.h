#ifndef DOCKET_SERVICES_TODO_CORE_PLAN_FOLD_H_
#define DOCKET_SERVICES_TODO_CORE_PLAN_FOLD_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "docket/log/v1/event.pb.h"
#include "docket/log/v1/log_service.pb.h"
#include "docket/todo/v1/todo.pb.h"

namespace docket::todo {

// The agent that every session has.
inline constexpr char kMainAgent[] = "main";

// Names one plan.
struct PlanKey {
  std::string tenant_id;
  std::string session_id;
  std::string agent_id;

  friend bool operator==(const PlanKey& a, const PlanKey& b) {
    return a.tenant_id == b.tenant_id && a.session_id == b.session_id && a.agent_id == b.agent_id;
  }
  friend bool operator!=(const PlanKey& a, const PlanKey& b) { return !(a == b); }
  template <typename H>
  friend H AbslHashValue(H h, const PlanKey& key) {
    return H::combine(std::move(h), key.tenant_id, key.session_id, key.agent_id);
  }
};

// The newest turn of an agent. A value.
struct TurnFacts {
  std::string turn_id;
  int64_t started_seq = 0;
  docket::v1::TurnOrigin origin = docket::v1::TURN_ORIGIN_UNSPECIFIED;
  absl::Time started_at;
  int64_t ended_seq = 0;  // 0: it is open.
  docket::v1::TurnEndReason end_reason = docket::v1::TURN_END_REASON_UNSPECIFIED;
  absl::Time ended_at;  // Only with ended_seq.

  bool open() const { return ended_seq == 0; }
  friend bool operator==(const TurnFacts& a, const TurnFacts& b);
};

// What the events of one agent say. A value; cheap to copy, since the list is shared.
struct PlanFold {
  std::string agent_id;
  std::string parent_agent_id;
  std::string spawn_call_id;
  std::string display_name;
  std::optional<absl::Time> spawned_at;
  // The newest plan event of the agent's own, the session's not counted. 0: none.
  int64_t own_seq = 0;
  absl::Time own_at;
  // The newest TodoWritten; null if there is none. Shared because copies of a fold must not copy lists.
  std::shared_ptr<const v1::TodoWritten> list;
  int64_t list_seq = 0;
  absl::Time list_at;
  // The seq of the TurnStarted of the turn that the list belongs to. 0: written between turns; the next turn adopts it.
  int64_t list_turn_seq = 0;
  std::optional<TurnFacts> turn;

  bool HasOpenTurn() const { return turn.has_value() && turn->open(); }
  // The newest seq among the agent's TodoWritten and TurnStarted: what a write is judged against. 0: neither.
  int64_t JudgedSeq() const;
  friend bool operator==(const PlanFold& a, const PlanFold& b);
};

// What the plan events of one session add up to: the session's facts and a PlanFold for each of its agents.
//
// Feed events to Apply() in ascending seq, or load the present state with FromSummary(); both give equal folds, and
// further events may follow either. Total: replay never fails, consults no policy and reads no other session. Events
// that were applied already are ignored, so replays and overlapping feeds are harmless; so are event types that say
// nothing about plans or that this build does not know.
//
// `main` is an agent of every session that is open or closed. An erased session has no agents and no facts but its
// state and the seq and time of its erasure.
//
// What stands is decided elsewhere, by PlanView() and the policy. Not thread-safe; cheap to copy.
class SessionFold {
 public:
  // A session without events.
  SessionFold(absl::string_view tenant_id, absl::string_view session_id);

  // The state after all events up to `summary.head_seq`. `latest_events` holds the newest event of each type in
  // PlanEventTypes() of every agent and of the session itself, in any order.
  static SessionFold FromSummary(const log::v1::SessionSummary& summary,
                                 const std::vector<log::v1::RecordedEvent>& latest_events);

  // Folds one event. Returns the agents whose plans changed: every one for the session's own events (when erased, those
  // that there were), none if the event says nothing new.
  std::vector<std::string> Apply(const log::v1::RecordedEvent& event);

  const std::string& tenant_id() const { return tenant_id_; }
  const std::string& session_id() const { return session_id_; }
  // UNSPECIFIED before the first SessionOpened.
  log::v1::SessionState state() const { return state_; }
  const std::string& title() const { return title_; }
  const std::map<std::string, std::string>& labels() const { return labels_; }
  const std::string& parent_session_id() const { return parent_session_id_; }
  // When the first event was recorded; nothing if none was, or the session was erased.
  std::optional<absl::Time> opened_at() const { return opened_at_; }
  // The newest of the session's own events (SessionOpened, SessionUpdated, SessionClosed, SessionErased). 0: none.
  int64_t session_seq() const { return session_seq_; }
  absl::Time session_at() const { return session_at_; }

  // `main`, then the others in the order they were spawned.
  const std::vector<PlanFold>& agents() const { return agents_; }
  // Null for an agent that the session does not have.
  const PlanFold* FindAgent(absl::string_view agent_id) const;
  // The seq of the agent's newest plan event, the session's own included.
  int64_t Revision(const PlanFold& agent) const;
  // When that event was recorded.
  absl::Time ChangedAt(const PlanFold& agent) const;
  // About how much memory the fold holds.
  size_t EstimatedBytes() const;

  friend bool operator==(const SessionFold& a, const SessionFold& b);

 private:
  PlanFold& AgentOf(absl::string_view agent_id);
  void ApplyToSession(const log::v1::SessionEvent& event, int64_t seq, absl::Time at);
  void ApplyToAgent(const log::v1::SessionEvent& event, int64_t seq, absl::Time at, PlanFold& agent);
  void LoadAgent(const log::v1::AgentSummary& summary);
  void LoadEvent(const log::v1::RecordedEvent& event);
  void Open(const log::v1::SessionOpened& opened, absl::Time at);
  void Close(int64_t seq, absl::Time at);
  void Erase();

  std::string tenant_id_;
  std::string session_id_;
  log::v1::SessionState state_ = log::v1::SESSION_STATE_UNSPECIFIED;
  std::string title_;
  std::map<std::string, std::string> labels_;
  std::string parent_session_id_;
  std::optional<absl::Time> opened_at_;
  int64_t session_seq_ = 0;
  absl::Time session_at_;
  std::vector<PlanFold> agents_;
  absl::flat_hash_map<std::string, size_t> index_;  // Into agents_, by agent id.
};

// The event types that plans are made of: what to subscribe to and to load.
const std::vector<log::v1::EventType>& PlanEventTypes();

}  // namespace docket::todo

#endif  // DOCKET_SERVICES_TODO_CORE_PLAN_FOLD_H_
