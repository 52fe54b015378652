#include "services/todo/logclient/grpc_event_log.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "services/common/backoff.h"
#include "services/common/errors.h"
#include "services/common/log.h"
#include "services/common/status_macros.h"
#include "services/edge/channel.h"
#include "services/edge/grpc_status.h"
#include "services/todo/core/plan_fold.h"

namespace docket::todo {
namespace {

constexpr absl::Duration kLoadTimeout = absl::Seconds(10);
constexpr absl::Duration kInfoTimeout = absl::Seconds(5);
constexpr absl::Duration kInfoAgain = absl::Milliseconds(200);

absl::Status Unreachable(absl::string_view text) {
  return WithRetryAfter(MakeError(docket::v1::ERROR_REASON_LOG_UNAVAILABLE, text), absl::Seconds(1));
}

// What a failed call means to docket-todo: whatever keeps the log from answering is one thing.
absl::Status Translate(const grpc::Status& wire) {
  const absl::Status status = FromGrpc(wire);
  if (ReasonOf(status) == docket::v1::ERROR_REASON_COMMIT_UNKNOWN) return status;
  if (absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status)) {
    return Unreachable("docket-log cannot be reached or cannot answer now");
  }
  return status;
}

}  // namespace

absl::StatusOr<std::unique_ptr<GrpcEventLog>> GrpcEventLog::Create(std::shared_ptr<grpc::Channel> channel,
                                                                   absl::Duration patience) {
  const auto stub = log::v1::LogService::NewStub(channel);
  const absl::Time give_up_at = absl::Now() + patience;
  for (;;) {
    grpc::ClientContext context;
    SetDeadline(context, std::min(give_up_at, absl::Now() + kInfoTimeout));
    context.set_wait_for_ready(true);
    log::v1::GetLogInfoResponse response;
    const absl::Status status = Translate(stub->GetLogInfo(&context, {}, &response));
    if (status.ok() && response.shard_count() < 1) return absl::InternalError("docket-log says that it has no shards");
    if (status.ok()) return std::unique_ptr<GrpcEventLog>(new GrpcEventLog(channel, response.shard_count()));
    if (!absl::IsUnavailable(status) || absl::Now() + kInfoAgain >= give_up_at) return status;
    absl::SleepFor(kInfoAgain);
  }
}

GrpcEventLog::GrpcEventLog(std::shared_ptr<grpc::Channel> channel, int32_t shard_count)
    : stub_(log::v1::LogService::NewStub(std::move(channel))), shard_count_(shard_count) {}

GrpcEventLog::~GrpcEventLog() {
  Stop();
}

absl::StatusOr<log::v1::AppendResponse> GrpcEventLog::Append(const log::v1::AppendRequest& request,
                                                             absl::Time deadline) {
  grpc::ClientContext context;
  SetDeadline(context, deadline);
  log::v1::AppendResponse response;
  const grpc::Status status = stub_->Append(&context, request, &response);
  if (status.ok()) return response;
  if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
    return WithRetryAfter(MakeError(docket::v1::ERROR_REASON_COMMIT_UNKNOWN,
                                    "docket-log has not answered in time; the write may have happened"),
                          absl::Milliseconds(200));
  }
  return Translate(status);
}

absl::StatusOr<std::vector<log::v1::RecordedEvent>> GrpcEventLog::Read(const log::v1::ReadSessionRequest& request,
                                                                       size_t max_bytes, absl::Time deadline) {
  grpc::ClientContext context;
  SetDeadline(context, deadline);
  const auto reader = stub_->ReadSession(&context, request);
  std::vector<log::v1::RecordedEvent> events;
  log::v1::ReadSessionResponse response;
  size_t bytes = 0;
  while (reader->Read(&response)) {
    for (log::v1::RecordedEvent& event : *response.mutable_events()) {
      bytes += event.ByteSizeLong();
      events.push_back(std::move(event));
      if (bytes < max_bytes) continue;
      context.TryCancel();
      reader->Finish();
      return events;
    }
  }
  if (const grpc::Status status = reader->Finish(); !status.ok()) return Translate(status);
  return events;
}

absl::StatusOr<log::v1::ListSessionsResponse> GrpcEventLog::ListSessions(const log::v1::ListSessionsRequest& request,
                                                                         absl::Time deadline) {
  grpc::ClientContext context;
  SetDeadline(context, deadline);
  log::v1::ListSessionsResponse response;
  const grpc::Status status = stub_->ListSessions(&context, request, &response);
  if (!status.ok()) return Translate(status);
  return response;
}

struct GrpcEventLog::LoadCall {
  grpc::ClientContext context;
  log::v1::GetSessionRequest request;
  log::v1::GetSessionResponse response;
  std::function<void(absl::StatusOr<Session>)> done;
};

void GrpcEventLog::LoadSession(const std::string& tenant_id, const std::string& session_id, int64_t at_least,
                               std::function<void(absl::StatusOr<Session>)> done) {
  auto call = std::make_shared<LoadCall>();
  call->done = std::move(done);
  call->request.set_tenant_id(tenant_id);
  call->request.set_session_id(session_id);
  call->request.set_at_least(at_least);
  for (const log::v1::EventType type : PlanEventTypes()) call->request.add_latest_events(type);
  SetDeadline(call->context, absl::Now() + kLoadTimeout);
  if (!Enter(&call->context)) return call->done(Unreachable("docket-todo is stopping"));
  stub_->async()->GetSession(&call->context, &call->request, &call->response, [this, call](grpc::Status status) {
    if (status.ok()) {
      Session session;
      session.summary = std::move(*call->response.mutable_session());
      session.latest_events.assign(std::make_move_iterator(call->response.mutable_latest_events()->begin()),
                                   std::make_move_iterator(call->response.mutable_latest_events()->end()));
      call->done(std::move(session));
    } else {
      call->done(Translate(status));
    }
    call->done = nullptr;  // before Stop() may return
    Leave(&call->context);
  });
}

void GrpcEventLog::Follow(int32_t shard, LogFollower& follower) {
  MutexLock lock(&mutex_);
  if (stopped_) return;
  followers_.emplace_back([this, shard, &follower] { FollowShard(shard, follower); });
}

void GrpcEventLog::FollowShard(int32_t shard, LogFollower& follower) {
  Backoff backoff({.first = absl::Milliseconds(50), .longest = absl::Seconds(2)});
  Followed followed{.shard = shard};
  for (;;) {
    if (Subscribe(followed, follower)) backoff.Reset();
    follower.Away(shard);
    if (Pause(backoff.Next())) return;
  }
}

bool GrpcEventLog::Subscribe(Followed& followed, LogFollower& follower) {
  grpc::ClientContext context;
  if (!Enter(&context)) return false;
  log::v1::SubscribeRequest request;
  auto& shard = *request.mutable_shards()->add_shards();
  shard.set_shard_id(followed.shard);
  if (followed.after.has_value()) {
    shard.mutable_start()->set_after_position(*followed.after);
  } else {
    shard.mutable_start()->mutable_now();
  }
  for (const log::v1::EventType type : PlanEventTypes()) request.add_types(type);
  const auto reader = stub_->Subscribe(&context, request);
  bool any = false;
  log::v1::SubscribeResponse response;
  while (reader->Read(&response)) {
    any = true;
    Tell(response, followed, follower);
  }
  const absl::Status status = FromGrpc(reader->Finish());
  Leave(&context);
  if (ReasonOf(status) == docket::v1::ERROR_REASON_POSITION_IN_FUTURE) {
    // The log ends before what it has told: it lost its end. Nothing that is held can be trusted.
    LogWarning("shard ", followed.shard, " of the log ends before position ", followed.after.value_or(0),
               ", which it has told; starting anew");
    followed.after.reset();
    followed.is_void = true;
  } else if (any && !absl::IsCancelled(status)) {
    LogWarning("the feed of shard ", followed.shard, " ended: ", absl::StatusCodeToString(status.code()));
  }
  return any;
}

void GrpcEventLog::Tell(const log::v1::SubscribeResponse& response, Followed& followed, LogFollower& follower) {
  using Item = log::v1::SubscribeResponse;
  switch (response.item_case()) {
    case Item::kEvents: {
      std::vector<const log::v1::RecordedEvent*> events;
      for (const log::v1::RecordedEvent& event : response.events().events()) events.push_back(&event);
      follower.Advance(followed.shard, events, response.events().through());
      followed.after = response.events().through();
      break;
    }
    case Item::kCaughtUp:
      if (std::exchange(followed.is_void, false)) follower.Reset(followed.shard, response.caught_up().position());
      followed.after = response.caught_up().position();
      follower.Live(followed.shard, response.caught_up().position());
      break;
    case Item::kProgress:
      followed.after = response.progress().position();
      follower.Advance(followed.shard, {}, response.progress().position());
      break;
    case Item::kReset:
      followed.after = response.reset().position();
      follower.Reset(followed.shard, response.reset().position());
      break;
    case Item::kFellBehind:
    case Item::ITEM_NOT_SET:
      break;
  }
}

bool GrpcEventLog::Enter(grpc::ClientContext* context) {
  MutexLock lock(&mutex_);
  if (stopped_) return false;
  calls_.insert(context);
  return true;
}

void GrpcEventLog::Leave(grpc::ClientContext* context) {
  MutexLock lock(&mutex_);
  calls_.erase(context);
  changed_.SignalAll();
}

bool GrpcEventLog::Pause(absl::Duration delay) {
  const absl::Time until = absl::Now() + delay;
  MutexLock lock(&mutex_);
  while (!stopped_ && absl::Now() < until) changed_.WaitWithTimeout(&mutex_, until - absl::Now());
  return stopped_;
}

void GrpcEventLog::Stop() {
  std::vector<std::thread> followers;
  {
    MutexLock lock(&mutex_);
    stopped_ = true;
    for (grpc::ClientContext* call : calls_) call->TryCancel();
    changed_.SignalAll();
    while (!calls_.empty()) changed_.Wait(&mutex_);
    followers.swap(followers_);
  }
  for (std::thread& follower : followers) follower.join();
}

}  // namespace docket::todo
