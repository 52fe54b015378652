#ifndef DOCKET_SERVICES_LOG_CORE_SHARD_FEED_H_
#define DOCKET_SERVICES_LOG_CORE_SHARD_FEED_H_

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "services/common/mutex.h"
#include "services/log/core/event_store.h"
#include "services/log/core/ids.h"

namespace docket::log {

// What is new on one shard, for all who follow it here: a ring of the newest events, without holes.
//
// Advance() is the only way forward. It is fed by this replica's commits, by what its appends brought back, and by
// reads of the store, in any order and with overlaps: each position is taken once. A position missing inside the
// covered range was erased, never "not yet". Nothing is kept while nobody follows.
//
// Thread-safe. Followers are called without a lock held, on the thread that advanced: they must not block.
class ShardFeed {
 public:
  struct Options {
    size_t max_events = 4096;
    size_t max_bytes = 4 << 20;
  };
  using EventPtr = std::shared_ptr<const StoredEvent>;

  // A part of the log without holes: every event in (after, through] that is not here was erased.
  struct Page {
    std::vector<EventPtr> events;
    Position after;
    Position through;
    // The ring does not reach back to where the reader stands: read (after, ...) from the store.
    bool hole = false;
  };

  // Where the feed stands.
  struct End {
    Position position;
    int32_t epoch = 0;  // 0: not begun
  };

  explicit ShardFeed(Options options) : options_(options) {}

  // Begins at `end` unless the feed has begun. A higher epoch than the feed's voids what it holds and begins anew.
  void Begin(End end);
  // Takes what is new of the events, which are all there are in (after, through].
  void Advance(Position after, Position through, const std::vector<StoredEvent>& events);

  End end() const;
  // What follows `after`, up to about `max_bytes` but at least one event.
  Page Read(Position after, size_t max_bytes) const;

  // Calls `wake` after each change from now on. A call that has begun can still run when Unfollow() returns.
  int64_t Follow(std::function<void()> wake);
  void Unfollow(int64_t follower);
  bool followed() const;

 private:
  void Wake();

  const Options options_;
  mutable Mutex mutex_;
  End end_ ABSL_GUARDED_BY(mutex_);
  Position ring_after_ ABSL_GUARDED_BY(mutex_);  // the ring covers (ring_after_, end_.position]
  std::deque<EventPtr> ring_ ABSL_GUARDED_BY(mutex_);
  size_t ring_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t next_follower_ ABSL_GUARDED_BY(mutex_) = 1;
  absl::flat_hash_map<int64_t, std::shared_ptr<const std::function<void()>>> followers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace docket::log

#endif  // DOCKET_SERVICES_LOG_CORE_SHARD_FEED_H_
