#ifndef DOCKET_SERVICES_TODO_CORE_EVENT_LOG_H_
#define DOCKET_SERVICES_TODO_CORE_EVENT_LOG_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "docket/log/v1/log_service.pb.h"

namespace docket::todo {

// Who is told what happens on the shards that are followed. One call at a time for each shard; must not block.
class LogFollower {
 public:
  virtual ~LogFollower() = default;
  // These are the plan events of the positions up to `through`; what came before was told before.
  virtual void Advance(int32_t shard, const std::vector<const log::v1::RecordedEvent*>& events, int64_t through) = 0;
  // The shard is followed, and everything up to `position` was told. Also after each time that it was away.
  virtual void Live(int32_t shard, int64_t position) = 0;
  // The log cannot be reached. What it has meanwhile comes before the next Live().
  virtual void Away(int32_t shard) = 0;
  // The log lost its end: what was told past `position` is void, and what comes next follows `position`.
  virtual void Reset(int32_t shard, int64_t position) = 0;
};

// docket-log, as docket-todo uses it.
//
// Errors are those of log_service.proto; a log that cannot be reached is LOG_UNAVAILABLE, an append whose fate is not
// known by its deadline COMMIT_UNKNOWN. Thread-safe.
class EventLog {
 public:
  // A session's state, with the newest event of each plan event type of each agent and of the session.
  struct Session {
    log::v1::SessionSummary summary;
    std::vector<log::v1::RecordedEvent> latest_events;
  };

  virtual ~EventLog() = default;

  virtual int32_t shard_count() const = 0;
  // Blocks until the answer or the deadline.
  virtual absl::StatusOr<log::v1::AppendResponse> Append(const log::v1::AppendRequest& request,
                                                         absl::Time deadline) = 0;
  // Reads events, at most about `max_bytes` of them and at least one if there are any. Blocks.
  virtual absl::StatusOr<std::vector<log::v1::RecordedEvent>> Read(const log::v1::ReadSessionRequest& request,
                                                                   size_t max_bytes, absl::Time deadline) = 0;
  // Blocks.
  virtual absl::StatusOr<log::v1::ListSessionsResponse> ListSessions(const log::v1::ListSessionsRequest& request,
                                                                     absl::Time deadline) = 0;
  // Reads a session as it is at `at_least` or later. Does not block; `done` runs once, within a bounded time, on any
  // thread or before this returns.
  virtual void LoadSession(const std::string& tenant_id, const std::string& session_id, int64_t at_least,
                           std::function<void(absl::StatusOr<Session>)> done) = 0;
  // Follows a shard from now on, as long as the log lives. Once for each shard. `follower` must outlive the log, or
  // Stop() be called before.
  virtual void Follow(int32_t shard, LogFollower& follower) = 0;
  // Follows nothing any more; afterwards no follower is called.
  virtual void Stop() = 0;
};

}  // namespace docket::todo

#endif  // DOCKET_SERVICES_TODO_CORE_EVENT_LOG_H_
