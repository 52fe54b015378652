#ifndef DOCKET_SERVICES_LOG_CORE_SUBSCRIPTION_H_
#define DOCKET_SERVICES_LOG_CORE_SUBSCRIPTION_H_

#include <functional>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/log/core/event_store.h"
#include "services/log/core/ids.h"
#include "services/log/core/shard_feed.h"

namespace docket::log {

// What one reader of one shard is sent next: everything from its start on, in order, each event once.
//
// It catches up by the ring where that reaches back far enough, else by pages of the store, and then follows live. A
// reader that the ring has left behind falls back to pages and is told so; nothing is lost. Pure: whoever owns it reads
// the store when asked to, and asks again when the feed has changed.
//
// Not thread-safe. The feed must outlive it.
class Subscription {
 public:
  struct Options {
    Position after;                    // where it starts
    ShardFeed::End begin;              // where the log ended when it began
    std::optional<SessionPk> session;  // only this session's events
    std::vector<int32_t> types;        // only these; empty: all
    // Further says which events are wanted; asked once for each. Empty: all.
    std::function<absl::StatusOr<bool>(const StoredEvent&)> wants;
    size_t max_bytes = 1 << 20;  // of events in one message, but at least one event
    absl::Duration progress_every = absl::Seconds(5);
  };

  // The next message.
  struct Message {
    enum class Kind { kEvents, kCaughtUp, kFellBehind, kProgress, kReset };
    Kind kind = Kind::kEvents;
    std::vector<ShardFeed::EventPtr> events;
    Position after;     // kEvents: the range begins after this ...
    Position position;  // ... and ends here; for all else the position it is about
  };

  // What to do: send the message; or read the store and give the page to Take(); or, with neither, wait for the feed
  // and look again at `wake_at` at the latest.
  struct Step {
    std::optional<Message> send;
    std::optional<ShardRange> read;
    absl::Time wake_at = absl::InfiniteFuture();
  };

  Subscription(const ShardFeed& feed, Options options);

  // Errors are those of `wants`; nothing is skipped by one.
  absl::StatusOr<Step> Next(absl::Time now);
  // The page that was asked for.
  void Take(const EventPage& page);

 private:
  absl::StatusOr<Step> Pass(std::vector<ShardFeed::EventPtr> events, Position through, absl::Time now);
  Step Send(Message message, absl::Time now);
  Step Idle(absl::Time now);

  const ShardFeed& feed_;
  const Options options_;
  const absl::flat_hash_set<int32_t> types_;
  int32_t epoch_;
  Position goal_;      // caught up once everything up to here was sent
  bool live_ = false;  // CaughtUp was sent, and no FellBehind since
  Position passed_;    // everything up to here was sent or is not wanted
  Position told_;      // the reader knows that everything up to here was sent
  absl::Time told_at_ = absl::InfinitePast();
  std::optional<EventPage> page_;
};

}  // namespace docket::log

#endif  // DOCKET_SERVICES_LOG_CORE_SUBSCRIPTION_H_
