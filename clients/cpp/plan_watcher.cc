#include "clients/cpp/plan_watcher.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "clients/cpp/call.h"
#include "services/common/backoff.h"
#include "services/common/proto_time.h"
#include "services/edge/grpc_status.h"

namespace docket::client {
namespace {

bool IsFinal(const absl::Status& status) {
  return absl::IsInvalidArgument(status) || absl::IsNotFound(status) || absl::IsFailedPrecondition(status) ||
         absl::IsUnimplemented(status) || absl::IsUnauthenticated(status) || absl::IsPermissionDenied(status);
}

}  // namespace

PlanWatcher::PlanWatcher(std::shared_ptr<grpc::Channel> channel, todo::v1::WatchPlansRequest request,
                         PlanObserver& observer, Options options)
    : stub_(todo::v1::TodoService::NewStub(std::move(channel))),
      request_(std::move(request)),
      observer_(observer),
      options_(options),
      thread_([this] { Run(); }),
      watchdog_([this] { WatchForSilence(); }) {}

PlanWatcher::~PlanWatcher() {
  {
    MutexLock lock(&mutex_);
    stopped_ = true;
    if (context_ != nullptr) context_->TryCancel();
    changed_.SignalAll();
  }
  thread_.join();
  watchdog_.join();
}

void PlanWatcher::Run() {
  Backoff backoff({.first = absl::Milliseconds(100), .longest = absl::Seconds(3)});
  for (;;) {
    absl::Duration again;
    bool any = false;
    const absl::Status status = RunStream(again, any);
    {
      MutexLock lock(&mutex_);
      if (stopped_) return;
    }
    if (IsFinal(status)) return observer_.Failed(status);
    if (any) backoff.Reset();
    observer_.Disconnected(status.ok() ? absl::UnavailableError("the server ended the watch") : status);
    const absl::Time until = absl::Now() + std::max(again, backoff.Next());
    MutexLock lock(&mutex_);
    while (!stopped_ && absl::Now() < until) changed_.WaitWithTimeout(&mutex_, until - absl::Now());
    if (stopped_) return;
  }
}

absl::Status PlanWatcher::RunStream(absl::Duration& again, bool& any) {
  grpc::ClientContext context;
  {
    MutexLock lock(&mutex_);
    if (stopped_) return absl::CancelledError("");
    context_ = &context;
    heard_at_ = absl::Now();
    changed_.SignalAll();
  }
  plans_.BeginStream();
  const auto reader = stub_->WatchPlans(&context, request_);
  todo::v1::WatchPlansResponse message;
  while (reader->Read(&message)) {
    {
      MutexLock lock(&mutex_);
      if (stopped_) break;
      heard_at_ = absl::Now();
    }
    any = true;
    if (message.has_going_away()) again = FromProto(message.going_away().reconnect_after());
    observer_.Updated(plans_, plans_.Apply(message), message);
  }
  {
    MutexLock lock(&mutex_);
    if (stopped_) context.TryCancel();
    context_ = nullptr;
  }
  return FromGrpc(reader->Finish());
}

void PlanWatcher::WatchForSilence() {
  MutexLock lock(&mutex_);
  while (!stopped_) {
    if (context_ == nullptr) {
      changed_.Wait(&mutex_);
      continue;
    }
    const absl::Duration left = heard_at_ + options_.silence - absl::Now();
    if (left > absl::ZeroDuration()) {
      changed_.WaitWithTimeout(&mutex_, left);
      continue;
    }
    context_->TryCancel();
    heard_at_ = absl::Now();  // once
  }
}

}  // namespace docket::client
