#include "services/todo/core/plan_watch.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "services/common/errors.h"
#include "services/common/list_rules.h"
#include "services/common/proto_time.h"
#include "services/common/status_macros.h"
#include "services/todo/core/plan_diff.h"
#include "services/todo/core/plan_view.h"

namespace docket::todo {
namespace {

using docket::v1::ERROR_REASON_INVALID_REQUEST;

// Sessions of one watch that are read from the log at a time.
constexpr size_t kMaxLoads = 64;
constexpr int kListPage = 1000;
constexpr int kMaxKeys = 1000;
constexpr size_t kMaxLabels = 16;
// A list of sessions may lag behind the log.
constexpr absl::Duration kListAgain = absl::Milliseconds(200);
constexpr absl::Duration kLoadAgain = absl::Seconds(1);
constexpr absl::Duration kListWithin = absl::Seconds(10);

void SetStale(std::optional<absl::Duration> stale_for, google::protobuf::Duration* field) {
  *field = ToProto(stale_for.value_or(absl::ZeroDuration()));
}

}  // namespace

absl::Status CheckWatch(const v1::WatchPlansRequest& request) {
  DOCKET_RETURN_IF_ERROR(CheckId(ERROR_REASON_INVALID_REQUEST, "tenant_id", request.tenant_id()));
  switch (request.scope_case()) {
    case v1::WatchPlansRequest::kPlans: {
      const auto& keys = request.plans().keys();
      if (keys.empty() || keys.size() > kMaxKeys) {
        return FieldError(ERROR_REASON_INVALID_REQUEST, "plans.keys",
                          absl::StrCat("there are ", keys.size(), "; allowed: 1 to ", kMaxKeys));
      }
      for (int i = 0; i < keys.size(); ++i) {
        const std::string field = absl::StrCat("plans.keys[", i, "]");
        DOCKET_RETURN_IF_ERROR(
            CheckId(ERROR_REASON_INVALID_REQUEST, absl::StrCat(field, ".session_id"), keys.Get(i).session_id()));
        DOCKET_RETURN_IF_ERROR(
            CheckId(ERROR_REASON_INVALID_REQUEST, absl::StrCat(field, ".agent_id"), keys.Get(i).agent_id()));
      }
      return absl::OkStatus();
    }
    case v1::WatchPlansRequest::kSession:
      return CheckId(ERROR_REASON_INVALID_REQUEST, "session.session_id", request.session().session_id());
    case v1::WatchPlansRequest::kTenant:
      if (request.tenant().session_labels().size() <= kMaxLabels) return absl::OkStatus();
      return FieldError(ERROR_REASON_INVALID_REQUEST, "tenant.session_labels",
                        absl::StrCat("at most ", kMaxLabels, " labels are allowed"));
    case v1::WatchPlansRequest::SCOPE_NOT_SET:
      break;
  }
  return FieldError(ERROR_REASON_INVALID_REQUEST, "scope", "plans, a session or a tenant are required",
                    {{"allowed", "plans, session, tenant"}});
}

PlanWatch::PlanWatch(EventLog& log, PlanCache& cache, const Clock& clock, v1::WatchPlansRequest request,
                     std::function<void()> wake, Options options)
    : log_(log), cache_(cache), clock_(clock), request_(std::move(request)), wake_(std::move(wake)), options_(options) {
  for (const v1::PlanKey& key : request_.plans().keys()) wanted_.insert({key.session_id(), key.agent_id()});
}

PlanWatch::~PlanWatch() {
  Stop();
}

void PlanWatch::Stop() {
  cache_.Forget(*this);
}

absl::StatusOr<PlanWatch::Step> PlanWatch::Next() {
  bool is_void = false;
  {
    MutexLock lock(&mutex_);
    is_void = std::exchange(void_, false);
  }
  if (is_void && phase_ != Phase::kStart) {
    cache_.Forget(*this);
    const bool told = sent_snapshot_;
    phase_ = Phase::kStart;
    v1::WatchPlansResponse reset;
    reset.mutable_reset()->set_reason(v1::WATCH_RESET_REASON_LOG_TRUNCATED);
    if (told) return Step{reset};
  }
  for (;;) {
    switch (phase_) {
      case Phase::kStart:
        Start();
        break;
      case Phase::kList: {
        DOCKET_ASSIGN_OR_RETURN(Step step, List());
        if (phase_ == Phase::kList) return step;
        break;
      }
      case Phase::kLoad: {
        DOCKET_ASSIGN_OR_RETURN(Step step, LoadSessions());
        if (phase_ == Phase::kLoad) return step;
        break;
      }
      case Phase::kSnapshot:
        return Snapshot();
      case Phase::kSynced:
        return Synced();
      case Phase::kLive:
        return Live();
    }
  }
}

void PlanWatch::Start() {
  names_.clear();
  sessions_.clear();
  sent_.clear();
  loaded_ = next_session_ = next_agent_ = 0;
  sent_snapshot_ = false;
  begin_until_ = clock_.Now() + options_.max_begin;
  {
    MutexLock lock(&mutex_);
    changed_.clear();
    folded_.clear();
    failed_.clear();
    feed_changed_ = false;
  }
  if (request_.has_tenant()) {
    cache_.ListenToTenant(*this, request_.tenant_id());
    phase_ = Phase::kList;
    return;
  }
  absl::flat_hash_set<std::string> seen;
  if (request_.has_session()) names_.push_back(request_.session().session_id());
  for (const v1::PlanKey& key : request_.plans().keys()) {
    if (seen.insert(key.session_id()).second) names_.push_back(key.session_id());
  }
  for (const std::string& name : names_) sessions_.push_back(cache_.Find(request_.tenant_id(), name));
  cache_.Listen(*this, request_.tenant_id(), sessions_);
  phase_ = Phase::kLoad;
}

absl::StatusOr<PlanWatch::Step> PlanWatch::List() {
  const auto position = cache_.PositionOf(request_.tenant_id());
  if (position.has_value()) {
    names_.clear();
    DOCKET_ASSIGN_OR_RETURN(const bool open, ListState(log::v1::SESSION_STATE_OPEN, *position));
    DOCKET_ASSIGN_OR_RETURN(const bool closed, ListState(log::v1::SESSION_STATE_CLOSED, *position));
    if (open && closed) {
      phase_ = Phase::kLoad;
      return Step{};
    }
  } else if (cache_.StaleFor(request_.tenant_id()).has_value()) {
    return WithRetryAfter(MakeError(docket::v1::ERROR_REASON_LOG_UNAVAILABLE, "the log cannot be reached"),
                          absl::Seconds(1));
  }
  const absl::Time now = clock_.Now();
  if (now >= begin_until_) {
    return WithRetryAfter(
        MakeError(docket::v1::ERROR_REASON_NOT_CAUGHT_UP, "the tenant's sessions could not be listed in time"),
        absl::Seconds(1));
  }
  return Step{.wake_at = std::min(begin_until_, now + (position.has_value() ? kListAgain : options_.max_begin))};
}

absl::StatusOr<bool> PlanWatch::ListState(log::v1::SessionState state, int64_t position) {
  const absl::Time now = clock_.Now();
  log::v1::ListSessionsRequest list;
  list.set_tenant_id(request_.tenant_id());
  list.set_page_size(kListPage);
  list.add_states(state);
  *list.mutable_labels() = request_.tenant().session_labels();
  if (state == log::v1::SESSION_STATE_CLOSED) *list.mutable_active_since() = ToProto(now - options_.active_within);
  do {
    DOCKET_ASSIGN_OR_RETURN(const log::v1::ListSessionsResponse page, log_.ListSessions(list, now + kListWithin));
    if (page.position() < position) return false;
    for (const log::v1::SessionSummary& session : page.sessions()) names_.push_back(session.session_id());
    DOCKET_RETURN_IF_ERROR(CheckWidth(names_.size()));
    list.set_page_token(page.next_page_token());
  } while (!list.page_token().empty());
  return true;
}

absl::StatusOr<PlanWatch::Step> PlanWatch::LoadSessions() {
  for (;;) {
    while (sessions_.size() < names_.size() && sessions_.size() < loaded_ + kMaxLoads) {
      sessions_.push_back(cache_.Find(request_.tenant_id(), names_[sessions_.size()]));
    }
    if (loaded_ == sessions_.size()) break;
    const absl::Status state = cache_.StateOf(sessions_[loaded_]);
    if (state.ok()) {
      ++loaded_;
      continue;
    }
    if (ReasonOf(state) != docket::v1::ERROR_REASON_NOT_CAUGHT_UP || clock_.Now() >= begin_until_) return state;
    return Step{.wake_at = begin_until_};
  }
  if (!request_.has_tenant()) DOCKET_RETURN_IF_ERROR(CheckSessions());
  // Before the first view is taken, so that the snapshot is true for it.
  snapshot_position_ = cache_.PositionOf(request_.tenant_id()).value_or(0);
  phase_ = Phase::kSnapshot;
  return Step{};
}

absl::Status PlanWatch::CheckSessions() {
  for (const SessionRef& session : sessions_) {
    const SessionFold fold = cache_.FoldOf(session);
    if (fold.FindAgent(kMainAgent) == nullptr) return NoPlanError(fold, kMainAgent);
  }
  return absl::OkStatus();
}

absl::StatusOr<PlanWatch::Step> PlanWatch::Snapshot() {
  v1::WatchPlansResponse response;
  size_t bytes = 0;
  for (; next_session_ < sessions_.size(); ++next_session_, next_agent_ = 0) {
    const SessionRef& session = sessions_[next_session_];
    auto plans = cache_.PlansOf(session);
    {
      // What is folded from here on counts as skipped.
      MutexLock lock(&mutex_);
      for (const auto& plan : plans) {
        const auto slot = folded_.find(SlotKey{session.get(), plan->agent_id()});
        if (slot != folded_.end()) slot->second = 0;
      }
    }
    plans = cache_.PlansOf(session);
    for (; next_agent_ < plans.size(); ++next_agent_) {
      const auto& plan = plans[next_agent_];
      if (!Wants(*plan)) continue;
      const size_t size = plan->ByteSizeLong();
      if (bytes > 0 && bytes + size > options_.max_chunk_bytes) {
        sent_snapshot_ = true;
        return Step{std::move(response)};
      }
      bytes += size;
      *response.mutable_snapshot()->add_plans() = *plan;
      sent_[{session.get(), plan->agent_id()}] = {session, plan};
      DOCKET_RETURN_IF_ERROR(CheckWidth(sent_.size()));
    }
  }
  phase_ = Phase::kSynced;
  if (bytes == 0 && sent_snapshot_) return Step{Synced()};
  response.mutable_snapshot();
  sent_snapshot_ = true;
  return Step{std::move(response)};
}

PlanWatch::Step PlanWatch::Synced() {
  phase_ = Phase::kLive;
  heartbeat_at_ = clock_.Now() + options_.heartbeat_every;
  v1::WatchPlansResponse response;
  response.mutable_synced()->set_position(snapshot_position_);
  const auto stale_for = cache_.StaleFor(request_.tenant_id());
  if (stale_for.has_value()) SetStale(stale_for, response.mutable_synced()->mutable_stale_for());
  return Step{std::move(response)};
}

absl::StatusOr<PlanWatch::Step> PlanWatch::Live() {
  Retry();
  // Before looking for changes: once there are none left, everything up to here was sent.
  const int64_t position = cache_.PositionOf(request_.tenant_id()).value_or(0);
  bool beat = clock_.Now() >= heartbeat_at_;
  for (;;) {
    Slot slot;
    int64_t folded = 0;
    {
      MutexLock lock(&mutex_);
      if (changed_.empty()) {
        beat |= std::exchange(feed_changed_, false);
        break;
      }
      slot = std::move(changed_.front());
      changed_.pop_front();
      const auto found = folded_.find(SlotKey{slot.session.get(), slot.agent_id});
      folded = found->second;
      folded_.erase(found);
    }
    if (auto message = Change(slot, folded); message.has_value()) {
      DOCKET_RETURN_IF_ERROR(CheckWidth(sent_.size()));
      return Step{std::move(message)};
    }
  }
  if (!beat) return Step{.wake_at = std::min(heartbeat_at_, retry_at_)};
  heartbeat_at_ = clock_.Now() + options_.heartbeat_every;
  v1::WatchPlansResponse response;
  response.mutable_heartbeat()->set_position(position);
  const auto stale_for = cache_.StaleFor(request_.tenant_id());
  if (stale_for.has_value()) SetStale(stale_for, response.mutable_heartbeat()->mutable_stale_for());
  return Step{std::move(response)};
}

std::optional<v1::WatchPlansResponse> PlanWatch::Change(const Slot& slot, int64_t folded) {
  const SlotKey key{slot.session.get(), slot.agent_id};
  const auto plan = cache_.PlanOf(slot.session, slot.agent_id);
  if (plan == nullptr) return Gone(slot);
  const auto sent = sent_.find(key);
  const bool known = sent != sent_.end();
  const bool wanted = Wants(*plan);
  if (!known && !wanted) return std::nullopt;
  if (known && sent->second.plan->revision() == plan->revision() &&
      sent->second.plan->policy_digest() == plan->policy_digest()) {
    return std::nullopt;
  }
  v1::WatchPlansResponse response;
  v1::WatchPlansResponse::PlanChanged& changed = *response.mutable_plan_changed();
  *changed.mutable_plan() = *plan;
  const auto changes = DiffItems(known ? sent->second.plan->items() : TodoItems(), plan->items());
  changed.mutable_changes()->Add(changes.begin(), changes.end());
  changed.set_coalesced(std::max<int64_t>(0, folded - 1));
  if (wanted) {
    sent_[key] = {slot.session, plan};
  } else {
    sent_.erase(sent);
  }
  return response;
}

std::optional<v1::WatchPlansResponse> PlanWatch::Gone(const Slot& slot) {
  const auto sent = sent_.find(SlotKey{slot.session.get(), slot.agent_id});
  if (sent == sent_.end()) return std::nullopt;
  v1::WatchPlansResponse response;
  v1::WatchPlansResponse::PlanChanged& changed = *response.mutable_plan_changed();
  changed.set_erased(true);
  changed.mutable_plan()->set_tenant_id(request_.tenant_id());
  changed.mutable_plan()->set_session_id(NameOf(slot.session).session_id);
  changed.mutable_plan()->set_agent_id(slot.agent_id);
  changed.mutable_plan()->set_revision(cache_.FoldOf(slot.session).session_seq());
  sent_.erase(sent);
  return response;
}

void PlanWatch::Retry() {
  absl::flat_hash_set<SessionName> failed;
  const absl::Time now = clock_.Now();
  {
    MutexLock lock(&mutex_);
    if (failed_.empty()) return;
    if (retry_at_ == absl::InfiniteFuture()) retry_at_ = now + kLoadAgain;
    if (now < retry_at_) return;
    failed.swap(failed_);
  }
  retry_at_ = absl::InfiniteFuture();
  for (const SessionName& name : failed) cache_.Find(name.tenant_id, name.session_id);
}

bool PlanWatch::Wants(const v1::Plan& plan) const {
  if (request_.has_plans()) return wanted_.contains({plan.session_id(), plan.agent_id()});
  return !request_.has_tenant() || HasLabels(plan);
}

bool PlanWatch::HasLabels(const v1::Plan& plan) const {
  for (const auto& [key, value] : request_.tenant().session_labels()) {
    const auto found = plan.session_labels().find(key);
    if (found == plan.session_labels().end() || found->second != value) return false;
  }
  return true;
}

absl::Status PlanWatch::CheckWidth(size_t plans) const {
  if (plans <= options_.max_plans) return absl::OkStatus();
  return MakeError(docket::v1::ERROR_REASON_WATCH_TOO_WIDE,
                   absl::StrCat("more than ", options_.max_plans, " plans match; narrow the filter"),
                   {{"limit", absl::StrCat(options_.max_plans)}});
}

void PlanWatch::PlansChanged(const SessionRef& session, const std::vector<std::string>& agents, int64_t folded) {
  {
    MutexLock lock(&mutex_);
    for (const std::string& agent : agents) {
      const auto [slot, is_new] = folded_.try_emplace(SlotKey{session.get(), agent}, 0);
      slot->second += folded;
      if (is_new) changed_.push_back({session, agent});
    }
  }
  wake_();
}

void PlanWatch::LoadFailed(const SessionRef& session, const absl::Status&) {
  {
    MutexLock lock(&mutex_);
    failed_.insert(NameOf(session));
  }
  wake_();
}

void PlanWatch::FeedChanged() {
  {
    MutexLock lock(&mutex_);
    feed_changed_ = true;
  }
  wake_();
}

void PlanWatch::SessionsVoid() {
  {
    MutexLock lock(&mutex_);
    void_ = true;
  }
  wake_();
}

}  // namespace docket::todo
