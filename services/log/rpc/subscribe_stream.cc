#include "services/log/rpc/subscribe_stream.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "services/common/errors.h"
#include "services/common/list_rules.h"
#include "services/common/sha256.h"
#include "services/common/status_macros.h"
#include "services/edge/unary.h"
#include "services/log/core/event_shape.h"
#include "services/log/core/limits.h"
#include "services/log/core/recorded_bytes.h"

namespace docket::log {
namespace {

using docket::v1::ERROR_REASON_INVALID_REQUEST;

absl::Status CheckStart(const v1::SubscribeRequest::Start& start, absl::string_view field) {
  if (start.place_case() == v1::SubscribeRequest::Start::kAfterPosition && start.after_position() < 0) {
    return FieldError(ERROR_REASON_INVALID_REQUEST, absl::StrCat(field, ".after_position"),
                      "the position must be at least 0");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckSubscribe(const v1::SubscribeRequest& request, int32_t shard_count) {
  DOCKET_RETURN_IF_ERROR(CheckTypes(request.types()));
  switch (request.scope_case()) {
    case v1::SubscribeRequest::kSession:
      DOCKET_RETURN_IF_ERROR(CheckId(ERROR_REASON_INVALID_REQUEST, "session.tenant_id", request.session().tenant_id()));
      DOCKET_RETURN_IF_ERROR(
          CheckId(ERROR_REASON_INVALID_REQUEST, "session.session_id", request.session().session_id()));
      return CheckStart(request.session().start(), "session.start");
    case v1::SubscribeRequest::kTenant:
      DOCKET_RETURN_IF_ERROR(CheckId(ERROR_REASON_INVALID_REQUEST, "tenant.tenant_id", request.tenant().tenant_id()));
      return CheckStart(request.tenant().start(), "tenant.start");
    case v1::SubscribeRequest::kShards: {
      absl::flat_hash_set<int32_t> seen;
      for (int i = 0; i < request.shards().shards_size(); ++i) {
        const auto& shard = request.shards().shards(i);
        const std::string field = absl::StrCat("shards.shards[", i, "]");
        if (shard.shard_id() < 0 || shard.shard_id() >= shard_count || !seen.insert(shard.shard_id()).second) {
          return FieldError(ERROR_REASON_INVALID_REQUEST, absl::StrCat(field, ".shard_id"),
                            absl::StrCat("the shards are 0 to ", shard_count - 1, ", each once"));
        }
        DOCKET_RETURN_IF_ERROR(CheckStart(shard.start(), absl::StrCat(field, ".start")));
      }
      if (!seen.empty()) return absl::OkStatus();
      return FieldError(ERROR_REASON_INVALID_REQUEST, "shards.shards", "at least one shard is required");
    }
    case v1::SubscribeRequest::SCOPE_NOT_SET:
      break;
  }
  return FieldError(ERROR_REASON_INVALID_REQUEST, "scope", "a session, a tenant or shards are required",
                    {{"allowed", "session, tenant, shards"}});
}

PushStream::Outcome SubscribeStream::Next() {
  if (!begun_) {
    if (absl::Status begun = Begin(); !begun.ok()) return Finished{begun};
    begun_ = true;
  }
  Sleep sleep;
  for (size_t i = 0; i < shards_.size(); ++i) {
    Shard& shard = *shards_[(turn_ + i) % shards_.size()];
    auto step = NextOf(shard);
    if (!step.ok()) return Finished{step.status()};
    if (step->send.has_value()) {
      turn_ = (turn_ + i + 1) % shards_.size();
      auto message = Encode(shard, *step->send);
      if (!message.ok()) return Finished{message.status()};
      return *std::move(message);
    }
    sleep.until = std::min(sleep.until, step->wake_at);
  }
  return sleep;
}

absl::Status SubscribeStream::Begin() {
  switch (request_.scope_case()) {
    case v1::SubscribeRequest::kSession: {
      const auto& session = request_.session();
      const ShardId shard{ShardOf(session.tenant_id(), shard_count_)};
      DOCKET_ASSIGN_OR_RETURN(const auto row, store_.FindSession(shard, session.tenant_id(), session.session_id()));
      if (!row.has_value()) {
        return MakeError(docket::v1::ERROR_REASON_SESSION_NOT_FOUND, "there is no such session",
                         {{"session_id", session.session_id()}});
      }
      return BeginShard(shard, session.start(), row->pk);
    }
    case v1::SubscribeRequest::kTenant:
      return BeginShard(ShardId{ShardOf(request_.tenant().tenant_id(), shard_count_)}, request_.tenant().start(), {});
    default:
      for (const auto& shard : request_.shards().shards())
        DOCKET_RETURN_IF_ERROR(BeginShard(ShardId{shard.shard_id()}, shard.start(), {}));
      return absl::OkStatus();
  }
}

absl::Status SubscribeStream::BeginShard(ShardId shard, const v1::SubscribeRequest::Start& start,
                                         std::optional<SessionPk> session) {
  ShardFeed& feed = feeds_.Feed(shard);
  // First, so that nothing after the end that is read next is missed.
  const std::weak_ptr<PushStream> weak = weak_from_this();
  auto entry = std::make_unique<Shard>();
  entry->id = shard;
  entry->follower = feed.Follow([weak] {
    if (const auto stream = weak.lock()) stream->Wake();
  });
  shards_.push_back(std::move(entry));
  DOCKET_RETURN_IF_ERROR(feeds_.CatchUp(shard));
  Subscription::Options options{.begin = feed.end(), .session = session, .max_bytes = kMaxMessageBytes};
  options.types.assign(request_.types().begin(), request_.types().end());
  if (start.has_now()) options.after = options.begin.position;
  if (start.place_case() == v1::SubscribeRequest::Start::kAfterPosition)
    options.after = Position{start.after_position()};
  if (options.after > options.begin.position) {
    return MakeError(docket::v1::ERROR_REASON_POSITION_IN_FUTURE, "the log has not reached that position",
                     {{"shard_id", absl::StrCat(shard.value)},
                      {"position", absl::StrCat(options.after.value)},
                      {"tail", absl::StrCat(options.begin.position.value)}});
  }
  if (request_.has_tenant()) {
    options.wants = [this, shard](const StoredEvent& event) -> absl::StatusOr<bool> {
      DOCKET_ASSIGN_OR_RETURN(const auto names, feeds_.NamesOf(shard, event.session_pk));
      return names->tenant_id == request_.tenant().tenant_id();
    };
  }
  shards_.back()->subscription = std::make_unique<Subscription>(feed, std::move(options));
  return absl::OkStatus();
}

absl::StatusOr<Subscription::Step> SubscribeStream::NextOf(Shard& shard) {
  for (;;) {
    DOCKET_ASSIGN_OR_RETURN(Subscription::Step step, shard.subscription->Next(absl::Now()));
    if (!step.read.has_value()) return step;
    DOCKET_ASSIGN_OR_RETURN(const EventPage page, store_.ReadShard(shard.id, *step.read));
    shard.subscription->Take(page);
  }
}

absl::StatusOr<grpc::ByteBuffer> SubscribeStream::Encode(const Shard& shard, const Subscription::Message& message) {
  using Kind = Subscription::Message::Kind;
  v1::SubscribeResponse response;
  response.set_shard_id(shard.id.value);
  const int64_t position = message.position.value;
  switch (message.kind) {
    case Kind::kCaughtUp:
      response.mutable_caught_up()->set_position(position);
      break;
    case Kind::kFellBehind:
      response.mutable_fell_behind()->set_position(position);
      break;
    case Kind::kProgress:
      response.mutable_progress()->set_position(position);
      break;
    case Kind::kReset:
      response.mutable_reset()->set_reason(v1::RESET_REASON_LOG_TRUNCATED);
      response.mutable_reset()->set_position(position);
      break;
    case Kind::kEvents: {
      v1::SubscribeResponse::Events range;
      range.set_after(message.after.value);
      range.set_through(position);
      std::string events = range.SerializeAsString();
      for (const auto& event : message.events) {
        DOCKET_ASSIGN_OR_RETURN(const auto names, feeds_.NamesOf(shard.id, event->session_pk));
        AppendField(events, v1::SubscribeResponse::Events::kEventsFieldNumber,
                    RecordedBytes(*event, names->tenant_id, names->session_id));
      }
      std::string bytes = response.SerializeAsString();
      AppendField(bytes, v1::SubscribeResponse::kEventsFieldNumber, events);
      return ToByteBuffer(bytes);
    }
  }
  return ToByteBuffer(response);
}

void SubscribeStream::Stopped() {
  for (const auto& shard : shards_) feeds_.Feed(shard->id).Unfollow(shard->follower);
}

}  // namespace docket::log
