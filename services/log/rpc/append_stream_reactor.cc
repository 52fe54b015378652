#include "services/log/rpc/append_stream_reactor.h"

#include <utility>

#include "services/edge/grpc_status.h"
#include "services/edge/unary.h"
#include "services/log/core/limits.h"

namespace docket::log {
namespace {

// Whether sending the same again may work.
bool IsRetryable(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsResourceExhausted(status);
}

class RefusedStream : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  explicit RefusedStream(const absl::Status& status) { Finish(ToGrpc(status)); }
  void OnDone() override { delete this; }
};

}  // namespace

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* AppendStreamReactor::Serve(ShardSet& shards,
                                                                                        StreamSet& streams) {
  auto stream = std::make_shared<AppendStreamReactor>(shards);
  if (const absl::Status added = streams.Add(stream); !added.ok()) return new RefusedStream(added);
  AppendStreamReactor* reactor = stream.get();
  reactor->self_ = std::move(stream);
  reactor->Proceed();
  return reactor;
}

void AppendStreamReactor::End(absl::Status status) {
  {
    MutexLock lock(&mutex_);
    if (!end_.has_value()) end_ = std::move(status);
    all_read_ = true;
  }
  Proceed();
}

void AppendStreamReactor::OnCancel() {
  {
    MutexLock lock(&mutex_);
    gone_ = all_read_ = true;
  }
  Proceed();
}

void AppendStreamReactor::OnReadDone(bool ok) {
  int64_t number = 0;
  bool submit = false;
  {
    MutexLock lock(&mutex_);
    if (!ok) {
      reading_ = false;
      all_read_ = true;
    } else if (!all_read_) {
      submit = true;
      number = ++submitted_;
      answers_.emplace_back();
    }
  }
  // Still "reading", so that requests are queued in the order that they were sent.
  if (submit) Submit(incoming_, number);
  {
    MutexLock lock(&mutex_);
    reading_ = false;
  }
  Proceed();
}

void AppendStreamReactor::OnWriteDone(bool ok) {
  {
    MutexLock lock(&mutex_);
    writing_ = false;
    written_ = told_;
    if (!ok) gone_ = all_read_ = true;
  }
  Proceed();
}

void AppendStreamReactor::Submit(const grpc::ByteBuffer& in, int64_t number) {
  v1::AppendStreamRequest request;
  absl::Status status = ParseStrictly(in, request, "docket.log.v1.SessionEvent");
  if (status.ok()) {
    std::shared_ptr<v1::AppendRequest> append(request.release_append());
    if (append == nullptr) append = std::make_shared<v1::AppendRequest>();
    status = shards_.Append(
        std::move(append),
        [stream = shared_from_this(), number](Answer answer) { stream->Answered(number, std::move(answer)); }, order_);
  }
  if (!status.ok()) {
    if (IsRetryable(status)) order_->broken = true;
    Answered(number, status);
  }
}

void AppendStreamReactor::Answered(int64_t number, Answer answer) {
  {
    MutexLock lock(&mutex_);
    ++answered_;
    answers_[static_cast<size_t>(number - told_ - 1)] = std::move(answer);
  }
  Proceed();
}

// Answers that follow each other become one acknowledgement, up to the next refusal.
std::optional<v1::AppendStreamResponse> AppendStreamReactor::NextResponse() {
  v1::AppendStreamResponse response;
  const int64_t before = told_;
  while (!answers_.empty() && answers_.front().has_value()) {
    const Answer& answer = *answers_.front();
    if (!answer.ok()) {
      if (IsRetryable(answer.status())) {
        // Nothing from here on was appended, or may have been: the caller sends it again.
        if (!end_.has_value() || absl::IsUnavailable(*end_)) end_ = answer.status();
        all_read_ = true;
        break;
      }
      if (told_ > before) break;
      ++told_;
      response.mutable_refused()->set_request(told_);
      *response.mutable_refused()->mutable_status() = ToRpcStatus(answer.status());
      answers_.pop_front();
      return response;
    }
    ++told_;
    known_events_ += answer->known_events();
    appended_events_ += answer->seqs_size() - answer->known_events();
    answers_.pop_front();
  }
  if (told_ == before) return std::nullopt;
  response.mutable_acknowledged()->set_through(told_);
  response.mutable_acknowledged()->set_appended_events(appended_events_);
  response.mutable_acknowledged()->set_known_events(known_events_);
  return response;
}

void AppendStreamReactor::Proceed() {
  std::optional<v1::AppendStreamResponse> response;
  bool read = false, finish = false;
  absl::Status status;
  {
    MutexLock lock(&mutex_);
    if (finished_) return;
    if (!writing_ && !gone_) response = NextResponse();
    if (response.has_value()) {
      writing_ = true;
      outgoing_ = ToByteBuffer(*response);
    }
    if (!reading_ && !all_read_ && submitted_ - written_ < kAppendStreamWindow) read = reading_ = true;
    if (!writing_ && all_read_ && (answered_ == submitted_)) {
      finish = finished_ = true;
      status = gone_ ? absl::CancelledError("the caller is gone") : end_.value_or(absl::OkStatus());
    }
  }
  if (response.has_value()) StartWrite(&outgoing_);
  if (read) StartRead(&incoming_);
  if (finish) Finish(ToGrpc(status));
}

}  // namespace docket::log
