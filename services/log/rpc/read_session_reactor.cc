#include "services/log/rpc/read_session_reactor.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "services/common/status_macros.h"
#include "services/edge/grpc_status.h"
#include "services/edge/unary.h"
#include "services/log/core/limits.h"

namespace docket::log {
namespace {

constexpr int kPageEvents = 1000;

}  // namespace

ReadSessionReactor::ReadSessionReactor(EventStore& store, ShardId shard, WorkerPool& pool,
                                       v1::ReadSessionRequest request)
    : store_(store), shard_(shard), pool_(pool), request_(std::move(request)) {
  left_ = request_.limit() > 0 ? request_.limit() : std::numeric_limits<int64_t>::max();
  range_.from = Seq{request_.from_seq()};
  range_.backward = request_.direction() == v1::READ_DIRECTION_BACKWARD;
  range_.max_bytes = kMaxMessageBytes;
  for (const int type : request_.types()) range_.types.push_back(type);
  Next();
}

void ReadSessionReactor::OnWriteDone(bool ok) {
  if (!ok || done_) return Finish(ok ? grpc::Status::OK : grpc::Status::CANCELLED);
  Next();
}

void ReadSessionReactor::Next() {
  const absl::Status queued = pool_.Run([this] {
    const absl::Status status = ReadPage();
    if (status.ok()) {
      StartWrite(&message_);
    } else {
      Finish(ToGrpc(status));
    }
  });
  if (!queued.ok()) Finish(ToGrpc(queued));
}

absl::Status ReadSessionReactor::ReadPage() {
  if (!session_.has_value()) {
    DOCKET_ASSIGN_OR_RETURN(session_, ReadSessionState(store_, shard_, request_.tenant_id(), request_.session_id(),
                                                       Position{request_.at_least()}));
  }
  const int64_t head = session_->state.head().value;
  // What came after the read began is not part of it.
  if (range_.backward && (range_.from.value == 0 || range_.from.value > head)) range_.from = Seq{head};
  range_.limit = static_cast<int>(std::min<int64_t>(kPageEvents, request_.agent_id().empty() ? left_ : kPageEvents));
  DOCKET_ASSIGN_OR_RETURN(const std::vector<StoredEvent> events,
                          store_.ReadSession(shard_, session_->state.pk(), range_));
  v1::ReadSessionResponse response;
  response.set_head_seq(head);
  response.set_position(session_->position.value);
  done_ = events.empty();
  for (const StoredEvent& event : events) {
    if (event.seq.value > head || left_ == 0) {
      done_ = true;
      break;
    }
    range_.from = Seq{event.seq.value + (range_.backward ? -1 : 1)};
    v1::RecordedEvent recorded = ToRecorded(event, request_.tenant_id(), request_.session_id());
    if (!request_.agent_id().empty() && recorded.event().agent_id() != request_.agent_id()) continue;
    *response.add_events() = std::move(recorded);
    --left_;
  }
  if (left_ == 0 || range_.from.value > head || (range_.backward && range_.from.value == 0)) done_ = true;
  message_ = ToByteBuffer(response);
  return absl::OkStatus();
}

}  // namespace docket::log
