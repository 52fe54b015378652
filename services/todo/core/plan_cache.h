#ifndef DOCKET_SERVICES_TODO_CORE_PLAN_CACHE_H_
#define DOCKET_SERVICES_TODO_CORE_PLAN_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "docket/todo/v1/todo.pb.h"
#include "services/common/clock.h"
#include "services/common/mutex.h"
#include "services/todo/core/event_log.h"
#include "services/todo/core/plan_fold.h"
#include "services/todo/core/policy_source.h"

namespace docket::todo {

// A session's place in the cache; what it holds is the cache's business. Whoever holds one keeps it from being evicted.
struct CachedSession;
using SessionRef = std::shared_ptr<CachedSession>;

// What a session is called, whatever its agents are.
struct SessionName {
  std::string tenant_id;
  std::string session_id;

  friend bool operator==(const SessionName& a, const SessionName& b) {
    return a.tenant_id == b.tenant_id && a.session_id == b.session_id;
  }
  template <typename H>
  friend H AbslHashValue(H h, const SessionName& name) {
    return H::combine(std::move(h), name.tenant_id, name.session_id);
  }
};

const SessionName& NameOf(const SessionRef& session);

// Who is told that plans changed. Called with the cache's lock held: must not block and must not call the cache.
class PlanListener {
 public:
  virtual ~PlanListener() = default;
  // These agents' plans changed: `folded` times since the last call about them, or there is a first or another view of
  // them (0). Every agent when the session was loaded.
  virtual void PlansChanged(const SessionRef& session, const std::vector<std::string>& agents, int64_t folded) = 0;
  // A session could not be loaded; it is loaded again when asked for.
  virtual void LoadFailed(const SessionRef& session, const absl::Status& status) = 0;
  // The log went away or came back.
  virtual void FeedChanged() = 0;
  // The log lost its end: every session that is held is void.
  virtual void SessionsVoid() = 0;
};

// The sessions that docket-todo holds, folded from the log and advanced by nothing but its feed.
//
// A shard is followed from the first time that one of its sessions is asked for. A session is loaded on first use: its
// events are kept from then on, its state is read as of a position that the feed had reached, and what the state has
// already is ignored. While the log is away everything that is held is served as it is.
//
// Holds about `max_bytes`: the sessions used longest ago go first, but never one that somebody holds a SessionRef to.
// Thread-safe. `log`, `policies` and `clock` must outlive it, and the log be stopped before it ends.
class PlanCache : public LogFollower {
 public:
  struct Options {
    size_t max_bytes = 256 << 20;
  };

  PlanCache(EventLog& log, PolicySource& policies, const Clock& clock, Options options);
  ~PlanCache() override;

  // A session, being loaded if it is not held. Does not block.
  SessionRef Find(const std::string& tenant_id, const std::string& session_id);
  // Whether it is there to be read; NOT_CAUGHT_UP while it is loading, else why it could not be loaded.
  absl::Status StateOf(const SessionRef& session);
  // Find(), and waits until it is there. A session that the log does not have is there, too: its fold is empty. Errors:
  // LOG_UNAVAILABLE, NOT_CAUGHT_UP at the deadline.
  absl::StatusOr<SessionRef> Await(const std::string& tenant_id, const std::string& session_id, absl::Time deadline);

  // A copy of what is known of a loaded session.
  SessionFold FoldOf(const SessionRef& session);
  // The plan of an agent; null if there is none. Made once for each revision and shared.
  std::shared_ptr<const v1::Plan> PlanOf(const SessionRef& session, const std::string& agent_id);
  // The plans of all agents, `main` first.
  std::vector<std::shared_ptr<const v1::Plan>> PlansOf(const SessionRef& session);

  // Waits until the plan has at least this revision. Errors: NOT_CAUGHT_UP at the deadline.
  absl::Status AwaitRevision(const SessionRef& session, const std::string& agent_id, int64_t revision,
                             absl::Time deadline);

  // Since when the log has been away from a tenant's plans; nothing if it is not.
  std::optional<absl::Duration> StaleFor(const std::string& tenant_id);
  // Everything of the tenant's shard up to here is in what is held. Nothing before the shard is followed.
  std::optional<int64_t> PositionOf(const std::string& tenant_id);

  // Tells `listener` of a session, or of all the tenant's sessions (which are then loaded when they change), until
  // Forget(). After Forget() returned it is not called.
  void Listen(PlanListener& listener, const std::string& tenant_id, const std::vector<SessionRef>& sessions);
  void ListenToTenant(PlanListener& listener, const std::string& tenant_id);
  void Forget(PlanListener& listener);

  // Other policies hold: every plan is shown anew.
  void PoliciesChanged();

  void Advance(int32_t shard, const std::vector<const log::v1::RecordedEvent*>& events, int64_t through) override;
  void Live(int32_t shard, int64_t position) override;
  void Away(int32_t shard) override;
  void Reset(int32_t shard, int64_t position) override;

 private:
  struct Shard {
    bool following = false;
    bool was_live = false;  // its position is known
    int64_t position = 0;
    std::optional<absl::Time> away_since;
    std::vector<SessionRef> waiting;  // for the first Live()
  };

  // What a listener is told of.
  struct Listening {
    std::string tenant_id;
    int32_t shard = 0;
    std::vector<SessionRef> sessions;  // empty: all of the tenant's
  };

  // A load to be started once the lock is let go of.
  struct Load {
    SessionRef session;
    int64_t at_least = 0;
    int64_t number = 0;
  };

  SessionRef Insert(const SessionName& name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Makes a session that is neither loaded nor loading load; what is to be started then goes to `loads`.
  void Want(const SessionRef& session, std::vector<Load>& loads) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Start(const std::vector<Load>& loads) ABSL_LOCKS_EXCLUDED(mutex_);
  void Fail(const SessionRef& session, const absl::Status& why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Loaded(const Load& load, absl::StatusOr<EventLog::Session> loaded) ABSL_LOCKS_EXCLUDED(mutex_);
  void Apply(CachedSession& session, const log::v1::RecordedEvent& event) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Tell(CachedSession& session, const std::vector<std::string>& agents, int64_t folded)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TellFeedChanged(int32_t shard) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Shard& ShardOfTenant(const std::string& tenant_id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::shared_ptr<const v1::Plan> PlanLocked(CachedSession& session, const std::string& agent_id)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Resize(CachedSession& session) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Evict() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  EventLog& log_;
  PolicySource& policies_;
  const Clock& clock_;
  const Options options_;
  Mutex mutex_;
  std::vector<Shard> shards_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<SessionName, SessionRef> sessions_ ABSL_GUARDED_BY(mutex_);
  std::list<SessionName> by_use_ ABSL_GUARDED_BY(mutex_);  // the latest first
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::flat_hash_map<PlanListener*, Listening> listeners_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, std::vector<PlanListener*>> of_tenant_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace docket::todo

#endif  // DOCKET_SERVICES_TODO_CORE_PLAN_CACHE_H_
