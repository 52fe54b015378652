#include "services/log/core/session_reader.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/common/errors.h"
#include "services/common/log.h"
#include "services/common/proto_time.h"
#include "services/common/status_macros.h"

namespace docket::log {

absl::StatusOr<SessionState> FoldOn(EventStore& store, ShardId shard, const SessionRow& row) {
  SessionState state = SessionState::FromRow(row);
  for (;;) {
    DOCKET_ASSIGN_OR_RETURN(const std::vector<StoredEvent> events,
                            store.ReadSession(shard, row.pk, {.from = Seq{state.head().value + 1}}));
    if (events.empty()) return state;
    for (const StoredEvent& event : events) state.Apply(event);
  }
}

absl::StatusOr<SessionAt> ReadSessionState(EventStore& store, ShardId shard, const std::string& tenant_id,
                                           const std::string& session_id, Position at_least) {
  // First, so that what is read after it is true for it.
  DOCKET_ASSIGN_OR_RETURN(const ShardHead head, store.ReadHead(shard));
  if (at_least > head.tail) {
    return MakeError(docket::v1::ERROR_REASON_POSITION_IN_FUTURE, "the log has not reached that position",
                     {{"position", absl::StrCat(at_least.value)}, {"tail", absl::StrCat(head.tail.value)}});
  }
  DOCKET_ASSIGN_OR_RETURN(const std::optional<SessionRow> row, store.FindSession(shard, tenant_id, session_id));
  if (!row.has_value()) {
    return MakeError(docket::v1::ERROR_REASON_SESSION_NOT_FOUND, "there is no such session",
                     {{"session_id", session_id}});
  }
  DOCKET_ASSIGN_OR_RETURN(SessionState state, FoldOn(store, shard, *row));
  return SessionAt{std::move(state), head.tail};
}

v1::RecordedEvent ToRecorded(const StoredEvent& event, const std::string& tenant_id, const std::string& session_id) {
  v1::RecordedEvent recorded;
  recorded.set_tenant_id(tenant_id);
  recorded.set_session_id(session_id);
  recorded.set_seq(event.seq.value);
  recorded.set_position(event.position.value);
  *recorded.mutable_recorded_at() = ToProto(event.recorded_at);
  if (!recorded.mutable_event()->ParseFromString(event.payload)) LogError("a stored event cannot be parsed");
  return recorded;
}

absl::StatusOr<std::vector<StoredEvent>> ReadLatest(EventStore& store, ShardId shard, const SessionState& state,
                                                    const google::protobuf::RepeatedField<int>& types,
                                                    const std::string& agent_id) {
  std::vector<Seq> seqs;
  const auto add = [&](const auto& latest) {
    for (const v1::LatestEvent& event : latest) {
      if (std::find(types.begin(), types.end(), static_cast<int>(event.type())) != types.end())
        seqs.push_back(Seq{event.seq()});
    }
  };
  add(state.summary().latest());
  for (const v1::AgentSummary& agent : state.summary().agents()) {
    if (agent_id.empty() || agent.agent_id() == agent_id) add(agent.latest());
  }
  if (seqs.empty()) return std::vector<StoredEvent>();
  return store.ReadSeqs(shard, state.pk(), seqs);
}

}  // namespace docket::log
