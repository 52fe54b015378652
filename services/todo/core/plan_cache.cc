#include "services/todo/core/plan_cache.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "services/common/errors.h"
#include "services/common/sha256.h"
#include "services/common/status_macros.h"
#include "services/todo/core/plan_view.h"

namespace docket::todo {
namespace {

// Events of one session that wait for its load. More fail the load, and it is tried again.
constexpr size_t kMaxPending = 10'000;
// Sessions in use that one eviction passes over.
constexpr int kMaxPassedOver = 64;

absl::Status NotCaughtUp(absl::string_view text) {
  return WithRetryAfter(MakeError(docket::v1::ERROR_REASON_NOT_CAUGHT_UP, text), absl::Milliseconds(100));
}

}  // namespace

struct CachedSession : std::enable_shared_from_this<CachedSession> {
  enum class State {
    kWaiting,  // for its shard to be followed
    kLoading,
    kReady,
    kFailed,
    kVoid,  // no longer in the cache
  };
  struct View {
    int64_t revision = 0;
    std::shared_ptr<const v1::Plan> plan;
  };

  CachedSession(const SessionName& its_name, int32_t its_shard)
      : name(its_name), shard(its_shard), fold(name.tenant_id, name.session_id) {}

  const SessionName name;
  const int32_t shard;
  State state = State::kFailed;
  int64_t loads = 0;  // begun so far: the answer to an earlier one is not looked at
  absl::Status failure;
  SessionFold fold;
  std::vector<log::v1::RecordedEvent> pending;   // while it loads
  absl::flat_hash_map<std::string, View> views;  // by agent
  std::vector<PlanListener*> listeners;
  CondVar changed;
  std::list<SessionName>::iterator use;
  size_t bytes = 0;
};

using State = CachedSession::State;

PlanCache::PlanCache(EventLog& log, PolicySource& policies, const Clock& clock, Options options)
    : log_(log),
      policies_(policies),
      clock_(clock),
      options_(options),
      shards_(static_cast<size_t>(log.shard_count())) {}

PlanCache::~PlanCache() = default;

const SessionName& NameOf(const SessionRef& session) {
  return session->name;
}

SessionRef PlanCache::Insert(const SessionName& name) {
  auto session = std::make_shared<CachedSession>(name, ShardOf(name.tenant_id, log_.shard_count()));
  sessions_[name] = session;
  by_use_.push_front(name);
  session->use = by_use_.begin();
  Resize(*session);
  Evict();
  return session;
}

void PlanCache::Want(const SessionRef& session, std::vector<Load>& loads) {
  if (session->state != State::kFailed) return;
  Shard& shard = shards_[static_cast<size_t>(session->shard)];
  session->pending.clear();
  if (shard.was_live) {
    session->state = State::kLoading;
    loads.push_back({session, shard.position, ++session->loads});
  } else {
    session->state = State::kWaiting;
    shard.waiting.push_back(session);
  }
}

SessionRef PlanCache::Find(const std::string& tenant_id, const std::string& session_id) {
  const SessionName name{tenant_id, session_id};
  std::vector<Load> loads;
  SessionRef session;
  bool follow = false;
  {
    MutexLock lock(&mutex_);
    const auto found = sessions_.find(name);
    session = found != sessions_.end() ? found->second : Insert(name);
    by_use_.splice(by_use_.begin(), by_use_, session->use);
    follow = !std::exchange(shards_[static_cast<size_t>(session->shard)].following, true);
    Want(session, loads);
  }
  if (follow) log_.Follow(session->shard, *this);
  Start(loads);
  return session;
}

void PlanCache::Start(const std::vector<Load>& loads) {
  for (const Load& load : loads) {
    log_.LoadSession(load.session->name.tenant_id, load.session->name.session_id, load.at_least,
                     [this, load](absl::StatusOr<EventLog::Session> loaded) { Loaded(load, std::move(loaded)); });
  }
}

void PlanCache::Loaded(const Load& load, absl::StatusOr<EventLog::Session> loaded) {
  const SessionRef& session = load.session;
  MutexLock lock(&mutex_);
  if (session->state != State::kLoading || session->loads != load.number) return;
  const bool missing = ReasonOf(loaded.status()) == docket::v1::ERROR_REASON_SESSION_NOT_FOUND;
  if (loaded.ok() || missing) {
    if (loaded.ok()) session->fold = SessionFold::FromSummary(loaded->summary, loaded->latest_events);
    for (const log::v1::RecordedEvent& event : std::exchange(session->pending, {})) session->fold.Apply(event);
    session->state = State::kReady;
    Resize(*session);
    std::vector<std::string> agents;
    for (const PlanFold& agent : session->fold.agents()) agents.push_back(agent.agent_id);
    Tell(*session, agents, 0);
    session->changed.SignalAll();
  } else {
    Fail(session, loaded.status());
  }
  Evict();
}

void PlanCache::Fail(const SessionRef& session, const absl::Status& why) {
  session->state = State::kFailed;
  session->failure = why;
  session->pending.clear();
  session->changed.SignalAll();
  for (PlanListener* listener : session->listeners) listener->LoadFailed(session, why);
  const auto all = of_tenant_.find(session->name.tenant_id);
  if (all == of_tenant_.end()) return;
  for (PlanListener* listener : all->second) listener->LoadFailed(session, why);
}

absl::Status PlanCache::StateOf(const SessionRef& session) {
  MutexLock lock(&mutex_);
  switch (session->state) {
    case State::kReady:
      return absl::OkStatus();
    case State::kFailed:
      return session->failure;
    case State::kWaiting:
      if (shards_[static_cast<size_t>(session->shard)].away_since.has_value()) {
        return WithRetryAfter(
            MakeError(docket::v1::ERROR_REASON_LOG_UNAVAILABLE, "the log cannot be reached, and the plan is not held"),
            absl::Seconds(1));
      }
      [[fallthrough]];
    default:
      return NotCaughtUp("the session is being read from the log");
  }
}

absl::StatusOr<SessionRef> PlanCache::Await(const std::string& tenant_id, const std::string& session_id,
                                            absl::Time deadline) {
  SessionRef session = Find(tenant_id, session_id);
  for (;;) {
    const absl::Status state = StateOf(session);
    if (state.ok()) return session;
    MutexLock lock(&mutex_);
    if (session->state == State::kFailed) return session->failure;
    if (session->state == State::kVoid) return state;
    if (session->state == State::kReady) continue;
    if (ReasonOf(state) == docket::v1::ERROR_REASON_LOG_UNAVAILABLE) return state;
    const absl::Duration left = deadline - clock_.Now();
    if (left <= absl::ZeroDuration()) return state;
    session->changed.WaitWithTimeout(&mutex_, left);
  }
}

SessionFold PlanCache::FoldOf(const SessionRef& session) {
  MutexLock lock(&mutex_);
  return session->fold;
}

std::shared_ptr<const v1::Plan> PlanCache::PlanLocked(CachedSession& session, const std::string& agent_id) {
  const PlanFold* agent = session.fold.FindAgent(agent_id);
  if (agent == nullptr) return nullptr;
  const auto policy = policies_.ForTenant(session.name.tenant_id);
  CachedSession::View& view = session.views[agent_id];
  const int64_t revision = session.fold.Revision(*agent);
  if (view.plan == nullptr || view.revision != revision || view.plan->policy_digest() != policy->digest()) {
    auto plan = PlanView(session.fold, agent_id, *policy);
    view.revision = revision;
    view.plan = plan.has_value() ? std::make_shared<const v1::Plan>(*std::move(plan)) : nullptr;
  }
  return view.plan;
}

std::shared_ptr<const v1::Plan> PlanCache::PlanOf(const SessionRef& session, const std::string& agent_id) {
  MutexLock lock(&mutex_);
  return PlanLocked(*session, agent_id);
}

std::vector<std::shared_ptr<const v1::Plan>> PlanCache::PlansOf(const SessionRef& session) {
  MutexLock lock(&mutex_);
  std::vector<std::shared_ptr<const v1::Plan>> plans;
  for (const PlanFold& agent : session->fold.agents()) {
    if (auto plan = PlanLocked(*session, agent.agent_id); plan != nullptr) plans.push_back(std::move(plan));
  }
  return plans;
}

absl::Status PlanCache::AwaitRevision(const SessionRef& session, const std::string& agent_id, int64_t revision,
                                      absl::Time deadline) {
  MutexLock lock(&mutex_);
  for (;;) {
    if (session->state == State::kVoid) return NotCaughtUp("the session is read anew");
    const PlanFold* agent = session->fold.FindAgent(agent_id);
    if (agent != nullptr && session->fold.Revision(*agent) >= revision) return absl::OkStatus();
    const absl::Duration left = deadline - clock_.Now();
    if (left <= absl::ZeroDuration()) {
      return WithMetadata(NotCaughtUp("the plan has not reached that revision here"), "revision",
                          absl::StrCat(agent == nullptr ? 0 : session->fold.Revision(*agent)));
    }
    session->changed.WaitWithTimeout(&mutex_, left);
  }
}

std::optional<absl::Duration> PlanCache::StaleFor(const std::string& tenant_id) {
  MutexLock lock(&mutex_);
  const Shard& shard = ShardOfTenant(tenant_id);
  if (!shard.away_since.has_value()) return std::nullopt;
  return std::max(clock_.Now() - *shard.away_since, absl::ZeroDuration());
}

std::optional<int64_t> PlanCache::PositionOf(const std::string& tenant_id) {
  MutexLock lock(&mutex_);
  const Shard& shard = ShardOfTenant(tenant_id);
  if (!shard.was_live) return std::nullopt;
  return shard.position;
}

PlanCache::Shard& PlanCache::ShardOfTenant(const std::string& tenant_id) {
  return shards_[static_cast<size_t>(ShardOf(tenant_id, log_.shard_count()))];
}

void PlanCache::Listen(PlanListener& listener, const std::string& tenant_id, const std::vector<SessionRef>& sessions) {
  MutexLock lock(&mutex_);
  listeners_[&listener] = {tenant_id, ShardOf(tenant_id, log_.shard_count()), sessions};
  for (const SessionRef& session : sessions) session->listeners.push_back(&listener);
}

void PlanCache::ListenToTenant(PlanListener& listener, const std::string& tenant_id) {
  const int32_t shard = ShardOf(tenant_id, log_.shard_count());
  bool follow = false;
  {
    MutexLock lock(&mutex_);
    listeners_[&listener] = {tenant_id, shard, {}};
    of_tenant_[tenant_id].push_back(&listener);
    follow = !std::exchange(shards_[static_cast<size_t>(shard)].following, true);
  }
  if (follow) log_.Follow(shard, *this);
}

void PlanCache::Forget(PlanListener& listener) {
  std::vector<SessionRef> released;  // let go of after the lock
  MutexLock lock(&mutex_);
  const auto found = listeners_.find(&listener);
  if (found == listeners_.end()) return;
  const auto remove = [&listener](std::vector<PlanListener*>& from) {
    from.erase(std::remove(from.begin(), from.end(), &listener), from.end());
  };
  for (const SessionRef& session : found->second.sessions) remove(session->listeners);
  if (const auto all = of_tenant_.find(found->second.tenant_id); all != of_tenant_.end()) {
    remove(all->second);
    if (all->second.empty()) of_tenant_.erase(all);
  }
  released = std::move(found->second.sessions);
  listeners_.erase(found);
}

void PlanCache::PoliciesChanged() {
  MutexLock lock(&mutex_);
  for (const auto& [name, session] : sessions_) {
    if (session->state != State::kReady) continue;
    std::vector<std::string> agents;
    for (const PlanFold& agent : session->fold.agents()) agents.push_back(agent.agent_id);
    Tell(*session, agents, 0);
  }
}

void PlanCache::Tell(CachedSession& session, const std::vector<std::string>& agents, int64_t folded) {
  const SessionRef ref = session.shared_from_this();
  for (PlanListener* listener : session.listeners) listener->PlansChanged(ref, agents, folded);
  const auto all = of_tenant_.find(session.name.tenant_id);
  if (all == of_tenant_.end()) return;
  for (PlanListener* listener : all->second) listener->PlansChanged(ref, agents, folded);
}

void PlanCache::Apply(CachedSession& session, const log::v1::RecordedEvent& event) {
  if (session.state == State::kLoading) {
    session.pending.push_back(event);
    if (session.pending.size() <= kMaxPending) return;
    return Fail(session.shared_from_this(), NotCaughtUp("the session grows faster than it can be read"));
  }
  if (session.state != State::kReady) return;
  const std::vector<std::string> agents = session.fold.Apply(event);
  if (agents.empty()) return;
  Resize(session);
  Tell(session, agents, 1);
  session.changed.SignalAll();
}

void PlanCache::Advance(int32_t shard_id, const std::vector<const log::v1::RecordedEvent*>& events, int64_t through) {
  std::vector<Load> loads;
  {
    MutexLock lock(&mutex_);
    for (const log::v1::RecordedEvent* event : events) {
      const SessionName name{event->tenant_id(), event->session_id()};
      auto found = sessions_.find(name);
      SessionRef session;
      if (found != sessions_.end()) {
        session = found->second;
      } else if (of_tenant_.contains(name.tenant_id)) {
        session = Insert(name);
        // With its first event a session is known as a whole.
        if (event->seq() == 1) session->state = State::kReady;
      } else {
        continue;
      }
      if (session->state == State::kFailed && of_tenant_.contains(name.tenant_id)) Want(session, loads);
      Apply(*session, *event);
    }
    Shard& shard = shards_[static_cast<size_t>(shard_id)];
    shard.position = std::max(shard.position, through);
    Evict();
  }
  Start(loads);
}

void PlanCache::Live(int32_t shard_id, int64_t position) {
  std::vector<Load> loads;
  {
    MutexLock lock(&mutex_);
    Shard& shard = shards_[static_cast<size_t>(shard_id)];
    shard.position = std::max(shard.position, position);
    shard.was_live = true;
    shard.away_since.reset();
    for (const SessionRef& session : std::exchange(shard.waiting, {})) {
      if (session->state != State::kWaiting) continue;
      session->state = State::kFailed;
      Want(session, loads);
    }
    TellFeedChanged(shard_id);
  }
  Start(loads);
}

void PlanCache::Away(int32_t shard_id) {
  MutexLock lock(&mutex_);
  Shard& shard = shards_[static_cast<size_t>(shard_id)];
  if (shard.away_since.has_value()) return;
  shard.away_since = clock_.Now();
  // Who waits for a session of a shard that was never followed is told.
  for (const SessionRef& session : shard.waiting) session->changed.SignalAll();
  TellFeedChanged(shard_id);
}

void PlanCache::Reset(int32_t shard_id, int64_t position) {
  MutexLock lock(&mutex_);
  Shard& shard = shards_[static_cast<size_t>(shard_id)];
  shard.position = position;
  for (auto it = sessions_.begin(); it != sessions_.end();) {
    const SessionRef session = it->second;
    if (session->shard != shard_id) {
      ++it;
      continue;
    }
    session->state = State::kVoid;
    session->changed.SignalAll();
    bytes_ -= session->bytes;
    by_use_.erase(session->use);
    sessions_.erase(it++);
  }
  shard.waiting.clear();
  for (const auto& [listener, listening] : listeners_) {
    if (listening.shard == shard_id) listener->SessionsVoid();
  }
}

void PlanCache::TellFeedChanged(int32_t shard) {
  for (const auto& [listener, listening] : listeners_) {
    if (listening.shard == shard) listener->FeedChanged();
  }
}

// A view holds the list once more.
void PlanCache::Resize(CachedSession& session) {
  const size_t bytes = sizeof(CachedSession) + 2 * session.fold.EstimatedBytes();
  bytes_ += bytes - session.bytes;
  session.bytes = bytes;
}

void PlanCache::Evict() {
  int passed_over = 0;
  while (bytes_ > options_.max_bytes && !by_use_.empty() && passed_over < kMaxPassedOver) {
    const auto found = sessions_.find(by_use_.back());
    if (found->second.use_count() > 1) {
      by_use_.splice(by_use_.begin(), by_use_, std::prev(by_use_.end()));
      ++passed_over;
      continue;
    }
    bytes_ -= found->second->bytes;
    by_use_.pop_back();
    sessions_.erase(found);
  }
}

}  // namespace docket::todo
