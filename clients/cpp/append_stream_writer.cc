#include "clients/cpp/append_stream_writer.h"

#include <utility>

#include "absl/time/clock.h"
#include "clients/cpp/call.h"
#include "services/common/backoff.h"
#include "services/edge/grpc_status.h"

namespace docket::client {

// One call.
class AppendStreamWriter::Stream {
 public:
  explicit Stream(log::v1::LogService::Stub& stub) : call_(stub.AppendStream(&context)) {}

  grpc::ClientContext context;
  grpc::ClientReaderWriter<log::v1::AppendStreamRequest, log::v1::AppendStreamResponse>& call() { return *call_; }

 private:
  std::unique_ptr<grpc::ClientReaderWriter<log::v1::AppendStreamRequest, log::v1::AppendStreamResponse>> call_;
};

AppendStreamWriter::AppendStreamWriter(std::shared_ptr<grpc::Channel> channel, Refused refused, Options options)
    : stub_(log::v1::LogService::NewStub(std::move(channel))),
      refused_(std::move(refused)),
      options_(options),
      thread_([this] { Run(); }) {}

AppendStreamWriter::~AppendStreamWriter() {
  {
    MutexLock lock(&mutex_);
    stopped_ = true;
    if (stream_ != nullptr) stream_->context.TryCancel();
    changed_.SignalAll();
  }
  thread_.join();
}

absl::Status AppendStreamWriter::Write(log::v1::AppendRequest request) {
  const size_t bytes = request.ByteSizeLong();
  MutexLock lock(&mutex_);
  while (!over_ && !window_.empty() &&
         (window_.size() >= options_.max_window_requests || window_bytes_ + bytes > options_.max_window_bytes)) {
    changed_.Wait(&mutex_);
  }
  if (over_) return end_;
  window_.push_back({std::move(request), bytes});
  window_bytes_ += bytes;
  ++totals_.requests;
  changed_.SignalAll();
  return absl::OkStatus();
}

absl::Status AppendStreamWriter::Finish() {
  MutexLock lock(&mutex_);
  no_more_ = true;
  changed_.SignalAll();
  while (!over_) changed_.Wait(&mutex_);
  return end_;
}

AppendStreamWriter::Totals AppendStreamWriter::totals() {
  MutexLock lock(&mutex_);
  return totals_;
}

void AppendStreamWriter::Run() {
  Backoff backoff({.first = absl::Milliseconds(50), .longest = absl::Seconds(2)});
  absl::Time away_since = absl::InfiniteFuture();
  for (;;) {
    const absl::Status status = RunStream();
    MutexLock lock(&mutex_);
    if (answered_ > 0) {
      backoff.Reset();
      away_since = absl::InfiniteFuture();
    }
    const absl::Time now = absl::Now();
    away_since = std::min(away_since, now);
    if (status.ok() || stopped_ || !IsRetryable(status) || now - away_since > options_.patience) {
      over_ = true;
      end_ = stopped_ && !status.ok() ? absl::CancelledError("given up") : status;
      changed_.SignalAll();
      return;
    }
    const absl::Time until = now + backoff.Next();
    while (!stopped_ && absl::Now() < until) changed_.WaitWithTimeout(&mutex_, until - absl::Now());
  }
}

absl::Status AppendStreamWriter::RunStream() {
  {
    // A stream is only opened for something to send, so that an idle writer holds none.
    MutexLock lock(&mutex_);
    answered_ = 0;
    while (window_.empty() && !no_more_ && !stopped_) changed_.Wait(&mutex_);
    if (stopped_) return absl::CancelledError("given up");
    if (window_.empty()) return absl::OkStatus();
  }
  Stream stream(*stub_);
  {
    MutexLock lock(&mutex_);
    sent_ = 0;
    answered_ = 0;
    stream_over_ = false;
    stream_ = &stream;
    if (stopped_) stream.context.TryCancel();
  }
  std::thread reader([this, &stream] { ReadAnswers(stream); });
  for (;;) {
    log::v1::AppendStreamRequest message;
    {
      MutexLock lock(&mutex_);
      while (!stream_over_ && !stopped_ && sent_ == window_.size() && !(no_more_ && window_.empty()))
        changed_.Wait(&mutex_);
      if (stream_over_ || stopped_ || sent_ == window_.size()) break;
      *message.mutable_append() = window_[sent_++].request;
    }
    if (!stream.call().Write(message)) break;
  }
  stream.call().WritesDone();
  reader.join();
  const absl::Status status = FromGrpc(stream.call().Finish());
  MutexLock lock(&mutex_);
  stream_ = nullptr;
  if (status.ok() && !window_.empty()) return absl::UnavailableError("the log ended the stream early");
  return status;
}

void AppendStreamWriter::ReadAnswers(Stream& stream) {
  log::v1::AppendStreamResponse answer;
  int64_t appended = 0, known = 0;
  while (stream.call().Read(&answer)) {
    if (answer.has_refused()) {
      log::v1::AppendRequest request;
      {
        MutexLock lock(&mutex_);
        ++totals_.refused;
        // All before it were answered, so it is the first that waits.
        Answered(answer.refused().request() - 1);
        if (sent_ > 0) request = std::move(window_.front().request);
        Answered(answer.refused().request());
        changed_.SignalAll();
      }
      if (refused_) refused_(request, FromRpcStatus(answer.refused().status()));
      continue;
    }
    MutexLock lock(&mutex_);
    const auto& acknowledged = answer.acknowledged();
    totals_.appended_events += acknowledged.appended_events() - std::exchange(appended, acknowledged.appended_events());
    totals_.known_events += acknowledged.known_events() - std::exchange(known, acknowledged.known_events());
    Answered(acknowledged.through());
    changed_.SignalAll();
  }
  MutexLock lock(&mutex_);
  stream_over_ = true;
  changed_.SignalAll();
}

void AppendStreamWriter::Answered(int64_t through) {
  for (; answered_ < through && sent_ > 0; ++answered_, --sent_) {
    window_bytes_ -= window_.front().bytes;
    window_.pop_front();
  }
}

}  // namespace docket::client
