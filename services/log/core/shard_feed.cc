#include "services/log/core/shard_feed.h"

#include <algorithm>
#include <utility>

namespace docket::log {

void ShardFeed::Begin(End end) {
  {
    MutexLock lock(&mutex_);
    if (end.epoch <= end_.epoch) return;
    end_ = end;
    ring_.clear();
    ring_bytes_ = 0;
    ring_after_ = end.position;
  }
  Wake();
}

void ShardFeed::Advance(Position after, Position through, const std::vector<StoredEvent>& events) {
  {
    MutexLock lock(&mutex_);
    if (end_.epoch == 0 || through <= end_.position) return;
    if (after > end_.position || followers_.empty()) {
      // The ring would have a hole, or nobody to read it.
      ring_.clear();
      ring_bytes_ = 0;
      ring_after_ = followers_.empty() ? through : after;
    }
    if (!followers_.empty()) {
      for (const StoredEvent& event : events) {
        if (event.position <= std::max(end_.position, ring_after_) || event.position > through) continue;
        ring_.push_back(std::make_shared<const StoredEvent>(event));
        ring_bytes_ += event.payload.size();
      }
      while (ring_.size() > options_.max_events || (ring_bytes_ > options_.max_bytes && ring_.size() > 1)) {
        ring_after_ = ring_.front()->position;
        ring_bytes_ -= ring_.front()->payload.size();
        ring_.pop_front();
      }
    }
    end_.position = through;
  }
  Wake();
}

ShardFeed::End ShardFeed::end() const {
  MutexLock lock(&mutex_);
  return end_;
}

ShardFeed::Page ShardFeed::Read(Position after, size_t max_bytes) const {
  MutexLock lock(&mutex_);
  Page page{.after = after, .through = after};
  if (after >= end_.position) return page;
  if (after < ring_after_) {
    page.hole = true;
    return page;
  }
  auto event = std::upper_bound(ring_.begin(), ring_.end(), after,
                                [](Position p, const EventPtr& e) { return p < e->position; });
  size_t bytes = 0;
  for (; event != ring_.end(); ++event) {
    bytes += (*event)->payload.size();
    if (!page.events.empty() && bytes > max_bytes) {
      page.through = page.events.back()->position;
      return page;
    }
    page.events.push_back(*event);
  }
  page.through = end_.position;
  return page;
}

int64_t ShardFeed::Follow(std::function<void()> wake) {
  MutexLock lock(&mutex_);
  followers_.emplace(next_follower_, std::make_shared<const std::function<void()>>(std::move(wake)));
  return next_follower_++;
}

void ShardFeed::Unfollow(int64_t follower) {
  MutexLock lock(&mutex_);
  followers_.erase(follower);
  if (!followers_.empty()) return;
  ring_.clear();
  ring_bytes_ = 0;
  ring_after_ = end_.position;
}

bool ShardFeed::followed() const {
  MutexLock lock(&mutex_);
  return !followers_.empty();
}

void ShardFeed::Wake() {
  std::vector<std::shared_ptr<const std::function<void()>>> followers;
  {
    MutexLock lock(&mutex_);
    for (const auto& [id, wake] : followers_) followers.push_back(wake);
  }
  for (const auto& wake : followers) (*wake)();
}

}  // namespace docket::log
