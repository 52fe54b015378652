#ifndef DOCKET_SERVICES_LOG_CORE_EVENT_STORE_H_
#define DOCKET_SERVICES_LOG_CORE_EVENT_STORE_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "docket/log/v1/log_service.pb.h"
#include "services/common/event_id.h"
#include "services/log/core/ids.h"

namespace docket::log {

// One row of the log.
struct StoredEvent {
  Position position;
  SessionPk session_pk;
  Seq seq;
  EventId id;
  int32_t type = 0;  // the number of the event map's field
  absl::Time recorded_at;
  std::string payload;  // a serialised SessionEvent
};

// What never changes about a log.
struct LogInfo {
  int32_t shard_count = 0;
  absl::Time created_at;
};

// Where a shard's log ends.
struct ShardHead {
  int32_t epoch = 0;
  Position tail;    // the newest position; 0: none yet
  EventId tail_id;  // the id of the event there; nil if that event was erased or there is none
  absl::Time tail_at = absl::InfinitePast();
  Position floor;             // positions up to here may have been erased at the end of the log
  Position summary_position;  // the session rows are complete up to here
};

// One session's row: a summary that may lag.
struct SessionRow {
  SessionPk pk;
  std::string tenant_id;
  std::string session_id;
  Seq checkpoint_seq;  // what `state` was folded up to; 0: `state` is empty
  std::string state;   // a serialised v1::SessionSummary
};

// An event to append. `session_pk` is negative, -k, for a session that is opened by the batch's k-th event (1, 2, ...).
struct NewEvent {
  SessionPk session_pk;
  Seq seq;
  EventId id;
  int32_t type = 0;
  std::string payload;
};

// A session that is opened by the batch's `ordinal`-th event (1, 2, ...).
struct NewSession {
  int32_t ordinal = 0;
  std::string tenant_id;
  std::string session_id;
};

// Events to append to one shard, judged against its log up to `tail`.
struct AppendBatch {
  ShardId shard;
  int32_t epoch = 0;
  Position tail;
  EventId tail_id;  // nil: not known, not checked
  std::vector<NewEvent> events;
  std::vector<NewSession> new_sessions;
};

// What became of a batch.
struct AppendOutcome {
  enum class Kind {
    kAppended,   // stored at `first`, `first` + 1, ...; durable
    kConflict,   // not stored: others appended to its sessions, or more than `missed` can hold
    kDiverged,   // not stored: the log does not go through `tail`, or has another epoch
    kDuplicate,  // not stored: an event id, a seq or a session is there already; read on from the tail and judge again
    kBadData,    // not stored: the database refuses the data of at least one event
    kUnavailable,  // not stored: the database is away, full, or a lock was not to be had in time
    kInDoubt,      // stored or not: the connection was lost during the commit, or the commit was cancelled
  };
  Kind kind = Kind::kUnavailable;
  // OK with kAppended and kConflict; else what to tell a caller, should trying again not help.
  absl::Status status;
  Position first;
  absl::Time recorded_at;
  // With kAppended and kConflict: the newest position before this batch, and the events after `tail` up to it, oldest
  // first. `missed_all`: they are all here; else the first ones.
  Position tail_found;
  std::vector<StoredEvent> missed;
  bool missed_all = true;
};

// Which events of a shard to read.
struct ShardRange {
  Position after;
  int limit = 1000;
  size_t max_bytes = 1 << 20;        // at least one event is read, whatever its size
  std::optional<SessionPk> session;  // only this session's
};

// Events of a shard, oldest first, and the range that they cover: every event in (after, through] that is not here is
// filtered or erased.
struct EventPage {
  std::vector<StoredEvent> events;
  Position through;
  bool reached_tail = false;  // there was nothing more when it was read
};

// Which events of a session to read.
struct SessionRange {
  Seq from;  // 0: from the start, or the end when backward
  bool backward = false;
  int limit = 1000;
  size_t max_bytes = 1 << 20;  // at least one event is read, whatever its size
  std::vector<int32_t> types;  // empty: all
};

// A session that has events in a range, and its newest seq there.
struct TouchedSession {
  SessionPk pk;
  Seq newest;
};

// The sessions with events in (after, through].
struct TouchedPage {
  std::vector<TouchedSession> sessions;
  Position through;
  bool reached_tail = false;
};

// Which sessions to list. All conditions hold together.
struct SessionFilter {
  std::vector<std::pair<std::string, std::string>> labels;
  std::vector<v1::SessionState> states;
  std::optional<absl::Time> active_since;
  // Continue after this one; its last activity as it was listed.
  std::optional<std::pair<absl::Time, SessionPk>> after;
  int limit = 50;
};

// The stored log: the only way to the database.
//
// A shard's positions are numbered in commit order: a reader that has seen position n has seen everything below it.
// Every call blocks until it is done or its own time limit has passed (Options of the implementation), and fails with
// STORE_UNAVAILABLE while the database is away. Texts of the database never appear in a status.
//
// Thread-safe.
class EventStore {
 public:
  virtual ~EventStore() = default;

  virtual absl::StatusOr<LogInfo> ReadLogInfo() = 0;
  virtual absl::StatusOr<ShardHead> ReadHead(ShardId shard) = 0;
  // Of several shards, in any order, in one round trip.
  virtual absl::StatusOr<std::vector<std::pair<ShardId, ShardHead>>> ReadHeads(const std::vector<ShardId>& shards) = 0;

  // Stores the batch, whole or not at all, in one round trip.
  virtual AppendOutcome Append(const AppendBatch& batch) = 0;

  virtual absl::StatusOr<EventPage> ReadShard(ShardId shard, const ShardRange& range) = 0;
  // Which sessions the next `limit` events after `after` belong to. Reads no payloads.
  virtual absl::StatusOr<TouchedPage> ReadTouched(ShardId shard, Position after, int limit) = 0;
  virtual absl::StatusOr<std::vector<StoredEvent>> ReadSession(ShardId shard, SessionPk pk,
                                                               const SessionRange& range) = 0;
  // The events of a session with these seqs, ascending; those that are not there are left out.
  virtual absl::StatusOr<std::vector<StoredEvent>> ReadSeqs(ShardId shard, SessionPk pk,
                                                            const std::vector<Seq>& seqs) = 0;
  // The events of a session with these ids, by ascending seq.
  virtual absl::StatusOr<std::vector<StoredEvent>> FindEvents(ShardId shard, SessionPk pk,
                                                              const std::vector<EventId>& ids) = 0;

  virtual absl::StatusOr<std::optional<SessionRow>> FindSession(ShardId shard, absl::string_view tenant_id,
                                                                absl::string_view session_id) = 0;
  // The rows with these keys, in any order; those that are not there are left out.
  virtual absl::StatusOr<std::vector<SessionRow>> FindSessions(ShardId shard, const std::vector<SessionPk>& pks) = 0;
  // A tenant's sessions as their rows say, the latest activity first.
  virtual absl::StatusOr<std::vector<SessionRow>> ListSessions(ShardId shard, absl::string_view tenant_id,
                                                               const SessionFilter& filter) = 0;

  // Stores summaries in one statement. A row that has a later checkpoint already is left as it is. `complete_through`:
  // the rows are now complete up to here (0: nothing is said); summary_position never sinks. Always writes the shard's
  // row, also without `rows`, and fails if the database warned: OK proves that what was committed before is safe.
  virtual absl::Status FlushSummaries(ShardId shard, const std::vector<SessionRow>& rows,
                                      Position complete_through) = 0;

  // Raises the epoch of a shard whose log lost its end, unless another replica has. Answers the epoch that it has now.
  virtual absl::StatusOr<int32_t> RaiseEpoch(ShardId shard, int32_t from) = 0;
};

}  // namespace docket::log

#endif  // DOCKET_SERVICES_LOG_CORE_EVENT_STORE_H_
