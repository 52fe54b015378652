#ifndef DOCKET_SERVICES_TODO_CORE_PLAN_WATCH_H_
#define DOCKET_SERVICES_TODO_CORE_PLAN_WATCH_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "docket/todo/v1/todo_service.pb.h"
#include "services/common/clock.h"
#include "services/common/mutex.h"
#include "services/todo/core/event_log.h"
#include "services/todo/core/plan_cache.h"

namespace docket::todo {

// One watch: what to send next.
//
// First the plans as they are, then each change. A plan that changed has one slot, whatever the number of changes, and
// what is sent is its newest view: a slow reader skips revisions and the watch's memory is bounded by the number of its
// plans. See WatchPlans in todo_service.proto for the order of messages.
//
// Next() is called by one thread at a time; the listener's calls may come from any thread meanwhile. `wake` is called
// when Next() may have something new, with the cache's lock held; it must not block. What it is given must outlive it.
class PlanWatch : public PlanListener {
 public:
  struct Options {
    absl::Duration heartbeat_every = absl::Seconds(15);
    size_t max_chunk_bytes = 1 << 20;
    size_t max_plans = 10'000;
    // A tenant's closed sessions that are shown.
    absl::Duration active_within = absl::Hours(24);
    // The first snapshot.
    absl::Duration max_begin = absl::Seconds(30);
  };
  // A message, or when to look again.
  struct Step {
    std::optional<v1::WatchPlansResponse> send;
    absl::Time wake_at = absl::InfiniteFuture();
  };

  // `request` is as CheckWatch() wants it.
  PlanWatch(EventLog& log, PlanCache& cache, const Clock& clock, v1::WatchPlansRequest request,
            std::function<void()> wake, Options options);
  ~PlanWatch() override;

  // Errors end the watch: SESSION_NOT_FOUND, SESSION_ERASED, WATCH_TOO_WIDE, LOG_UNAVAILABLE, NOT_CAUGHT_UP. Blocks
  // only while it lists a tenant's sessions.
  absl::StatusOr<Step> Next();
  // Afterwards `wake` is not called. Next() is not called any more.
  void Stop();

  void PlansChanged(const SessionRef& session, const std::vector<std::string>& agents, int64_t folded) override;
  void LoadFailed(const SessionRef& session, const absl::Status& status) override;
  void FeedChanged() override;
  void SessionsVoid() override;

 private:
  enum class Phase { kStart, kList, kLoad, kSnapshot, kSynced, kLive };
  // A plan that changed.
  struct Slot {
    SessionRef session;
    std::string agent_id;
  };
  using SlotKey = std::pair<CachedSession*, std::string>;
  // What was sent last of a plan. The session is held so that its address stays its name.
  struct Sent {
    SessionRef session;
    std::shared_ptr<const v1::Plan> plan;
  };

  void Start();
  absl::StatusOr<Step> List();
  // The names of the tenant's sessions in this state; whether they are complete up to `position`.
  absl::StatusOr<bool> ListState(log::v1::SessionState state, int64_t position);
  absl::StatusOr<Step> LoadSessions();
  absl::Status CheckSessions();
  absl::StatusOr<Step> Snapshot();
  Step Synced();
  absl::StatusOr<Step> Live();
  // The message for a slot; nothing if there is nothing new about its plan.
  std::optional<v1::WatchPlansResponse> Change(const Slot& slot, int64_t folded);
  std::optional<v1::WatchPlansResponse> Gone(const Slot& slot);
  // Loads again what could not be loaded.
  void Retry();
  bool Wants(const v1::Plan& plan) const;
  bool HasLabels(const v1::Plan& plan) const;
  absl::Status CheckWidth(size_t plans) const;

  EventLog& log_;
  PlanCache& cache_;
  const Clock& clock_;
  const v1::WatchPlansRequest request_;
  const std::function<void()> wake_;
  const Options options_;
  absl::flat_hash_set<std::pair<std::string, std::string>> wanted_;  // single plans: session and agent

  // Next()'s own.
  Phase phase_ = Phase::kStart;
  absl::Time begin_until_;
  std::vector<std::string> names_;    // the sessions of the snapshot
  std::vector<SessionRef> sessions_;  // of them, those that were asked for
  size_t loaded_ = 0;                 // of these, the first ones that are there
  size_t next_session_ = 0;           // of the snapshot
  size_t next_agent_ = 0;
  int64_t snapshot_position_ = 0;
  bool sent_snapshot_ = false;
  absl::Time heartbeat_at_;
  absl::Time retry_at_ = absl::InfiniteFuture();
  absl::flat_hash_map<SlotKey, Sent> sent_;

  Mutex mutex_;
  std::deque<Slot> changed_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<SlotKey, int64_t> folded_ ABSL_GUARDED_BY(mutex_);  // of each slot in changed_
  absl::flat_hash_set<SessionName> failed_ ABSL_GUARDED_BY(mutex_);
  bool feed_changed_ ABSL_GUARDED_BY(mutex_) = false;
  bool void_ ABSL_GUARDED_BY(mutex_) = false;
};

// OK if the request's shape is right; INVALID_REQUEST else.
absl::Status CheckWatch(const v1::WatchPlansRequest& request);

}  // namespace docket::todo

#endif  // DOCKET_SERVICES_TODO_CORE_PLAN_WATCH_H_
