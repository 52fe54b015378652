#ifndef DOCKET_SERVICES_LOG_CORE_SHARD_TAIL_H_
#define DOCKET_SERVICES_LOG_CORE_SHARD_TAIL_H_

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "services/common/mutex.h"
#include "services/log/core/event_store.h"
#include "services/log/core/ids.h"
#include "services/log/core/session_state.h"
#include "services/log/core/subscription.h"

namespace docket::log {

// What this replica knows of a shard's end: the position reached, the newest events, the folded states of active
// sessions.
//
// Advance() is its only entry, fed by this replica's commits, by what an append brought back, and by reads after a
// hint; ranges may overlap and come in any order, each position is taken once. Cached states are folded along.
// Followers are woken with numbers and read the ring themselves.
//
// Promises: the ring is contiguous, (ring_after, position]. Positions given to one follower never go backwards but by a
// reset.
//
// Thread-safe. Wakes run on the advancing thread without the tail's lock held by the caller, must not block, and may
// not unfollow.
class ShardTail {
 public:
  struct Options {
    size_t ring_events = 4096;
    size_t ring_bytes = 8 << 20;
    size_t cached_states = 4096;
  };

  // Where the tail stands.
  struct Mark {
    int32_t epoch = 0;
    Position position;
    EventId id;  // of the event at `position`; nil if that is not known
    Position ring_after;
    absl::Time recorded_at;
  };

  // What a follower is told: the mark, and whether the log was cut since the last wake.
  using Wake = std::function<void(const Mark&, bool reset)>;

  ShardTail(ShardId shard, EventStore& store, Options options);

  // Reads where the log ends, unless it is known. The ring is empty then. Blocks.
  absl::Status Start();

  ShardId shard() const { return shard_; }
  Mark mark() const;

  // Takes what is new of the events in (after, through]; does nothing if `after` is beyond the tail. Looks up the names
  // of sessions that are not known; blocks for that. On an error nothing was taken.
  absl::Status Advance(Position after, Position through, std::vector<StoredEvent> events);

  // The log lost its end: drops ring and states and starts anew from `head`.
  void Reset(const ShardHead& head);

  // The ring's events after `after`, at most `max_bytes` of them or one; nothing if the ring does not reach back so
  // far.
  std::optional<FeedRange> ReadRing(Position after, size_t max_bytes) const;

  // Events with the names of their sessions; looks up what is not known. Blocks.
  absl::StatusOr<FeedEvents> WithNames(std::vector<StoredEvent> events);

  // The folded state of a session as of mark(), loaded if it is not cached; nothing if there is no such session. Blocks
  // for a load. The state and the mark belong together.
  struct StateAt {
    std::shared_ptr<const SessionState> state;
    Mark mark;
  };
  absl::StatusOr<StateAt> State(absl::string_view tenant_id, absl::string_view session_id);

  // Sessions changed since the last call, with their states, and the position that this is complete up to.
  struct Dirty {
    std::vector<std::shared_ptr<const SessionState>> states;
    Position through;
  };
  Dirty TakeDirty();

  // Wakes `wake` with the mark now and whenever it changes, until Unfollow(), after which it is not running and will
  // not run again.
  int64_t Follow(Wake wake);
  void Unfollow(int64_t follower);
  bool followed() const;
};

}  // namespace docket::log

#endif  // DOCKET_SERVICES_LOG_CORE_SHARD_TAIL_H_
