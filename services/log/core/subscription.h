#ifndef DOCKET_SERVICES_LOG_CORE_SUBSCRIPTION_H_
#define DOCKET_SERVICES_LOG_CORE_SUBSCRIPTION_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/time/time.h"
#include "services/log/core/event_store.h"
#include "services/log/core/ids.h"

namespace docket::log {

// Whose session an event belongs to.
struct SessionName {
  std::string tenant_id;
  std::string session_id;
};

// A stored event as it is streamed: never changed, shared by all subscriptions.
struct FeedEvent {
  StoredEvent stored;
  std::shared_ptr<const SessionName> name;
};

using FeedEvents = std::vector<std::shared_ptr<const FeedEvent>>;

// The part of a shard's log in (after, through]; what is missing in it was erased.
struct FeedRange {
  Position after;
  Position through;
  FeedEvents events;
};

// Which events of a shard a subscription streams. Empty members select everything.
struct FeedFilter {
  std::string tenant_id;
  std::string session_id;
  std::optional<SessionPk> session_pk;
  absl::flat_hash_set<int32_t> types;

  bool Matches(const FeedEvent& event) const;
};

// One shard's subscription as a state machine: what to do next, given what happened.
//
// Catches up (from the tail's ring where that reaches back far enough, else from the store, page by page), then is
// live. A hole between what it has and what the ring still holds sends it back to catch-up, with FellBehind; CaughtUp
// is always sent, also on an empty feed, and again after FellBehind. Events and positions leave in one order, each
// position's range once. At most one write and one fetch are in flight; while one is, nothing else is asked for.
// Memory: the one message that is being written.
//
// Pure: no thread, no I/O, no clock. Not thread-safe.
class Subscription {
 public:
  struct Options {
    Position start;         // stream what comes after it
    Position caught_up_at;  // the tail when the stream began
    int32_t epoch = 0;
    FeedFilter filter;
    size_t max_message_bytes = 1 << 20;
    int fetch_limit = 1000;
    absl::Duration progress_every = absl::Seconds(5);
  };

  // What is to be written next; exactly one kind.
  struct Message {
    enum class Kind { kEvents, kCaughtUp, kFellBehind, kProgress, kReset };
    Kind kind = Kind::kProgress;
    FeedEvents events;  // kEvents
    Position after;     // kEvents
    Position position;  // through, or the position that the message tells
  };

  // The next thing to do. Nothing: wait for the next input.
  struct Action {
    enum class Kind { kNone, kFetch, kWrite };
    Kind kind = Kind::kNone;
    ShardRange fetch;  // kFetch: ReadShard() with this, then Fetched() or FetchFailed()
    Message message;   // kWrite: send it, then WriteDone()
  };

  explicit Subscription(Options options);

  // The tail's ring reaches from `ring_after` to `tail`. Called when the shard grew, and once at the start.
  void Woken(Position ring_after, Position tail);
  // Events of the ring after the subscription's position; asked for through WantsRing().
  void RingRead(FeedRange range);
  // A page that was asked for.
  void Fetched(FeedRange page, bool reached_tail);
  // The page could not be read; it is asked for again at the next Woken() or Tick().
  void FetchFailed();
  void WriteDone();
  // Time has passed: progress may be due.
  void Tick(absl::Time now);
  // The log lost its end; the tail goes on from `position` under `epoch`.
  void Reset(Position position, int32_t epoch);

  // What to do now. Asking has the effect that it is in flight.
  Action Next();

  // Where the ring should be read from, if it should be read now.
  std::optional<Position> WantsRing() const;

  // Everything up to here has been handed out.
  Position position() const { return position_; }

 private:
  enum class State { kCatchingUp, kLive };

  void Take(FeedRange range);

  const Options options_;
  State state_ = State::kCatchingUp;
  Position position_;      // handed out up to here
  Position told_;          // the client knows that it has everything up to here
  Position caught_up_at_;  // CaughtUp is due once position_ is here
  bool caught_up_sent_ = false;
  bool writing_ = false;
  bool fetching_ = false;
  bool fetch_failed_ = false;
  Position ring_after_;
  Position tail_;
  std::optional<Message> fell_behind_;
  std::optional<Message> reset_;
  std::vector<Message> queue_;  // at most the messages of one page
  absl::Time progress_at_ = absl::InfinitePast();
  absl::Time now_ = absl::InfinitePast();
};

}  // namespace docket::log

#endif  // DOCKET_SERVICES_LOG_CORE_SUBSCRIPTION_H_
