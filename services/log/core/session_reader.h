#ifndef DOCKET_SERVICES_LOG_CORE_SESSION_READER_H_
#define DOCKET_SERVICES_LOG_CORE_SESSION_READER_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "docket/log/v1/log_service.pb.h"
#include "services/log/core/event_store.h"
#include "services/log/core/session_state.h"

// Reads of one session, straight from the store: true for everything that was committed before they began.

namespace docket::log {

// A session as it is, with the position that it is true for.
struct SessionAt {
  SessionState state;
  Position position;
};

// The row's state with the events after it folded in. Blocks.
absl::StatusOr<SessionState> FoldOn(EventStore& store, ShardId shard, const SessionRow& row);

// Finds the session's row and folds on from it. Errors: SESSION_NOT_FOUND, POSITION_IN_FUTURE (`at_least` is beyond
// the log), STORE_UNAVAILABLE. Blocks.
absl::StatusOr<SessionAt> ReadSessionState(EventStore& store, ShardId shard, const std::string& tenant_id,
                                           const std::string& session_id, Position at_least);

// A stored event as it is answered.
v1::RecordedEvent ToRecorded(const StoredEvent& event, const std::string& tenant_id, const std::string& session_id);

// The newest events of these types of every agent and of the session itself (of `agent_id` alone, if it is given), by
// seq. Blocks.
absl::StatusOr<std::vector<StoredEvent>> ReadLatest(EventStore& store, ShardId shard, const SessionState& state,
                                                    const google::protobuf::RepeatedField<int>& types,
                                                    const std::string& agent_id);

}  // namespace docket::log

#endif  // DOCKET_SERVICES_LOG_CORE_SESSION_READER_H_
