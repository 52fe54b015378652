#include "clients/cpp/watched_plans.h"

#include <utility>

#include "services/common/proto_time.h"

namespace docket::client {
namespace {

constexpr size_t kMaxErased = 10'000;

WatchedKey KeyOf(const todo::v1::Plan& plan) {
  return {plan.session_id(), plan.agent_id()};
}

template <typename Message>
std::optional<absl::Duration> StaleFor(const Message& message) {
  if (!message.has_stale_for()) return std::nullopt;
  return FromProto(message.stale_for());
}

}  // namespace

void WatchedPlans::BeginStream() {
  snapshot_.clear();
}

std::vector<WatchedKey> WatchedPlans::Apply(const todo::v1::WatchPlansResponse& message) {
  using Item = todo::v1::WatchPlansResponse;
  switch (message.item_case()) {
    case Item::kSnapshot:
      for (const todo::v1::Plan& plan : message.snapshot().plans()) snapshot_[KeyOf(plan)] = plan;
      return {};
    case Item::kSynced:
      stale_for_ = StaleFor(message.synced());
      return Complete();
    case Item::kPlanChanged: {
      const todo::v1::Plan& plan = message.plan_changed().plan();
      if (!message.plan_changed().erased())
        return Put(plan) ? std::vector<WatchedKey>{KeyOf(plan)} : std::vector<WatchedKey>{};
      if (erased_.size() < kMaxErased) erased_[KeyOf(plan)] = plan.revision();
      return plans_.erase(KeyOf(plan)) > 0 ? std::vector<WatchedKey>{KeyOf(plan)} : std::vector<WatchedKey>{};
    }
    case Item::kHeartbeat:
      stale_for_ = StaleFor(message.heartbeat());
      return {};
    case Item::kReset:
      reset_ = true;
      snapshot_.clear();
      return {};
    case Item::kGoingAway:
    case Item::ITEM_NOT_SET:
      return {};
  }
  return {};
}

bool WatchedPlans::Put(const todo::v1::Plan& plan) {
  const WatchedKey key = KeyOf(plan);
  if (const auto erased = erased_.find(key); erased != erased_.end() && erased->second >= plan.revision()) return false;
  const auto found = plans_.find(key);
  if (found != plans_.end() && found->second.revision() > plan.revision()) return false;
  plans_[key] = plan;
  return true;
}

std::vector<WatchedKey> WatchedPlans::Complete() {
  std::vector<WatchedKey> changed;
  synced_ = true;
  if (std::exchange(reset_, false)) {
    erased_.clear();
    for (const auto& [key, plan] : plans_) changed.push_back(key);
    plans_.clear();
  }
  for (auto it = plans_.begin(); it != plans_.end();) {
    if (snapshot_.contains(it->first)) {
      ++it;
    } else {
      changed.push_back(it->first);
      it = plans_.erase(it);
    }
  }
  for (const auto& [key, plan] : snapshot_) {
    if (Put(plan)) changed.push_back(key);
  }
  snapshot_.clear();
  return changed;
}

}  // namespace docket::client
