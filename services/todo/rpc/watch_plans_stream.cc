#include "services/todo/rpc/watch_plans_stream.h"

#include "absl/random/random.h"
#include "services/common/proto_time.h"
#include "services/edge/unary.h"

namespace docket::todo {
namespace {

// Watchers come back spread over this time.
constexpr absl::Duration kReconnectFirst = absl::Milliseconds(200);
constexpr absl::Duration kReconnectLast = absl::Seconds(2);

}  // namespace

PushStream::Outcome WatchPlansStream::Next() {
  if (watch_ == nullptr) {
    // Weak: the cache may call while the stream ends.
    const auto wake = [weak = weak_from_this()] {
      if (const auto stream = weak.lock()) stream->Wake();
    };
    watch_ = std::make_unique<PlanWatch>(log_, cache_, clock_, std::move(request_), wake, PlanWatch::Options());
  }
  absl::StatusOr<PlanWatch::Step> step = watch_->Next();
  if (!step.ok()) return Finished{step.status()};
  if (step->send.has_value()) return ToByteBuffer(*step->send);
  return Sleep{step->wake_at};
}

std::optional<grpc::ByteBuffer> WatchPlansStream::Farewell() {
  absl::BitGen random;
  v1::WatchPlansResponse response;
  *response.mutable_going_away()->mutable_reconnect_after() =
      ToProto(absl::Uniform(random, 0.0, 1.0) * (kReconnectLast - kReconnectFirst) + kReconnectFirst);
  return ToByteBuffer(response);
}

void WatchPlansStream::Stopped() {
  if (watch_ != nullptr) watch_->Stop();
}

}  // namespace docket::todo
