#include "services/log/core/subscription.h"

#include <algorithm>
#include <utility>

#include "services/common/status_macros.h"

namespace docket::log {
namespace {

constexpr absl::Duration kLookAgain = absl::Milliseconds(250);

}  // namespace

Subscription::Subscription(const ShardFeed& feed, Options options)
    : feed_(feed),
      options_(std::move(options)),
      types_(options_.types.begin(), options_.types.end()),
      epoch_(options_.begin.epoch),
      goal_(std::max(options_.begin.position, options_.after)),
      passed_(options_.after),
      told_(options_.after) {}

absl::StatusOr<Subscription::Step> Subscription::Next(absl::Time now) {
  if (told_at_ == absl::InfinitePast()) told_at_ = now;
  const ShardFeed::End end = feed_.end();
  if (end.epoch > epoch_) {
    epoch_ = end.epoch;
    page_.reset();
    passed_ = goal_ = end.position;
    live_ = false;
    return Send({.kind = Message::Kind::kReset, .position = passed_}, now);
  }
  for (;;) {
    if (!live_ && passed_ >= goal_) {
      live_ = true;
      return Send({.kind = Message::Kind::kCaughtUp, .position = passed_}, now);
    }
    std::vector<ShardFeed::EventPtr> events;
    Position through;
    if (page_.has_value()) {
      for (StoredEvent& event : page_->events) events.push_back(std::make_shared<const StoredEvent>(std::move(event)));
      through = page_->through;
      page_.reset();
      if (through <= passed_) {
        // The log is shorter than it was; the feed will say so.
        Step step;
        step.wake_at = now + kLookAgain;
        return step;
      }
    } else {
      ShardFeed::Page page = feed_.Read(passed_, options_.max_bytes);
      if (page.hole && live_) {
        live_ = false;
        goal_ = end.position;
        return Send({.kind = Message::Kind::kFellBehind, .position = passed_}, now);
      }
      if (page.hole) {
        Step step;
        step.read = {.after = passed_, .max_bytes = options_.max_bytes, .session = options_.session};
        return step;
      }
      if (page.through == passed_) return Idle(now);
      events = std::move(page.events);
      through = page.through;
    }
    DOCKET_ASSIGN_OR_RETURN(Step step, Pass(std::move(events), through, now));
    if (step.send.has_value()) return step;
  }
}

void Subscription::Take(const EventPage& page) {
  page_ = page;
}

absl::StatusOr<Subscription::Step> Subscription::Pass(std::vector<ShardFeed::EventPtr> events, Position through,
                                                      absl::Time now) {
  Message message{.after = told_, .position = through};
  for (ShardFeed::EventPtr& event : events) {
    if (event->position <= passed_) continue;
    if (options_.session.has_value() && event->session_pk != *options_.session) continue;
    if (!types_.empty() && !types_.contains(event->type)) continue;
    if (options_.wants) {
      DOCKET_ASSIGN_OR_RETURN(const bool wanted, options_.wants(*event));
      if (!wanted) continue;
    }
    message.events.push_back(std::move(event));
  }
  passed_ = std::max(passed_, through);
  if (message.events.empty()) return Step{};
  return Send(std::move(message), now);
}

Subscription::Step Subscription::Send(Message message, absl::Time now) {
  told_ = message.position;
  told_at_ = now;
  Step step;
  step.send = std::move(message);
  return step;
}

Subscription::Step Subscription::Idle(absl::Time now) {
  Step step;
  if (passed_ <= told_) return step;
  step.wake_at = told_at_ + options_.progress_every;
  if (now < step.wake_at) return step;
  return Send({.kind = Message::Kind::kProgress, .position = passed_}, now);
}

}  // namespace docket::log
