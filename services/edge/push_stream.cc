#include "services/edge/push_stream.h"

#include <utility>

#include "services/edge/grpc_status.h"

namespace docket {
namespace {

class RefusedStream : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
 public:
  explicit RefusedStream(const absl::Status& status) { Finish(ToGrpc(status)); }
  void OnDone() override { delete this; }
};

}  // namespace

grpc::ServerWriteReactor<grpc::ByteBuffer>* PushStream::Refuse(const absl::Status& status) {
  return new RefusedStream(status);
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* PushStream::Serve(std::shared_ptr<PushStream> stream, WorkerPool& pool,
                                                              StreamSet& streams) {
  if (absl::Status added = streams.Add(stream); !added.ok()) return Refuse(added);
  PushStream* reactor = stream.get();
  reactor->pool_ = &pool;
  reactor->self_ = std::move(stream);
  reactor->Schedule();
  return reactor;
}

void PushStream::Wake() {
  {
    MutexLock lock(&mutex_);
    woken_ = true;
    if (working_ || finished_) return;
    working_ = true;
  }
  Schedule();
}

void PushStream::End(absl::Status status) {
  {
    MutexLock lock(&mutex_);
    if (!end_.has_value()) end_ = std::move(status);
    if (working_ || finished_) return;
    working_ = true;
  }
  Schedule();
}

void PushStream::OnCancel() {
  End(absl::CancelledError("the caller is gone"));
}

void PushStream::OnWriteDone(bool ok) {
  if (!ok) return FinishOnce(absl::CancelledError("the caller is gone"));
  Schedule();
}

void PushStream::OnDone() {
  Stopped();
  self_.reset();  // last: it may be the last one
}

void PushStream::Schedule() {
  const absl::Status queued = pool_->Run([stream = shared_from_this()] { stream->Work(); });
  if (!queued.ok()) FinishOnce(queued);
}

void PushStream::Work() {
  for (;;) {
    std::optional<absl::Status> end;
    bool farewell = false;
    {
      MutexLock lock(&mutex_);
      if (finished_) return;
      woken_ = false;
      end = end_;
      farewell = end.has_value() && !absl::IsCancelled(*end) && !std::exchange(said_farewell_, true);
    }
    if (end.has_value()) {
      std::optional<grpc::ByteBuffer> last;
      if (farewell) last = Farewell();
      if (!last.has_value()) return FinishOnce(*end);
      message_ = *std::move(last);
      return StartWrite(&message_);
    }
    Outcome outcome = Next();
    if (auto* message = std::get_if<grpc::ByteBuffer>(&outcome)) {
      message_ = std::move(*message);
      return StartWrite(&message_);
    }
    if (auto* finished = std::get_if<Finished>(&outcome)) return FinishOnce(finished->status);
    if (GoToSleep(std::get<Sleep>(outcome).until)) return;
  }
}

bool PushStream::GoToSleep(absl::Time until) {
  MutexLock lock(&mutex_);
  if (woken_ || end_.has_value()) return false;
  working_ = false;
  SetAlarm(until);
  return true;
}

// An alarm that is early only wakes the stream once more.
void PushStream::SetAlarm(absl::Time until) {
  if (until >= alarm_at_) return;
  alarm_at_ = until;
  alarm_ = std::make_unique<grpc::Alarm>();
  alarm_->Set(absl::ToChronoTime(until), [weak = weak_from_this(), until](bool due) {
    const auto stream = weak.lock();
    if (!due || stream == nullptr) return;
    {
      MutexLock lock(&stream->mutex_);
      if (stream->alarm_at_ == until) stream->alarm_at_ = absl::InfiniteFuture();
    }
    stream->Wake();
  });
}

void PushStream::FinishOnce(const absl::Status& status) {
  {
    MutexLock lock(&mutex_);
    if (std::exchange(finished_, true)) return;
    alarm_.reset();
  }
  Finish(ToGrpc(status));
}

}  // namespace docket
