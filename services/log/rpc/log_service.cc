#include "services/log/rpc/log_service.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/common/errors.h"
#include "services/common/list_rules.h"
#include "services/common/proto_time.h"
#include "services/common/status_macros.h"
#include "services/edge/grpc_status.h"
#include "services/edge/push_stream.h"
#include "services/edge/unary.h"
#include "services/log/core/event_shape.h"
#include "services/log/core/limits.h"
#include "services/log/core/session_reader.h"
#include "services/log/rpc/append_stream_reactor.h"
#include "services/log/rpc/read_session_reactor.h"
#include "services/log/rpc/subscribe_stream.h"

namespace docket::log {
namespace {

using docket::v1::ERROR_REASON_INVALID_REQUEST;

// Events may have fields that this build does not know; they are stored as they are.
constexpr char kEventType[] = "docket.log.v1.SessionEvent";

template <typename Request>
absl::Status CheckNames(const Request& request) {
  DOCKET_RETURN_IF_ERROR(CheckId(ERROR_REASON_INVALID_REQUEST, "tenant_id", request.tenant_id()));
  DOCKET_RETURN_IF_ERROR(CheckId(ERROR_REASON_INVALID_REQUEST, "session_id", request.session_id()));
  if (request.at_least() < 0)
    return FieldError(ERROR_REASON_INVALID_REQUEST, "at_least", "the position must be at least 0");
  return absl::OkStatus();
}

absl::Status CheckRead(const v1::ReadSessionRequest& request) {
  DOCKET_RETURN_IF_ERROR(CheckNames(request));
  if (request.from_seq() < 0) return FieldError(ERROR_REASON_INVALID_REQUEST, "from_seq", "the seq must be at least 0");
  if (request.limit() < 0) return FieldError(ERROR_REASON_INVALID_REQUEST, "limit", "the limit must be at least 0");
  if (request.direction() < 0 || request.direction() > v1::READ_DIRECTION_BACKWARD) {
    return FieldError(ERROR_REASON_INVALID_REQUEST, "direction", "the direction must be FORWARD or BACKWARD",
                      {{"allowed", "FORWARD, BACKWARD"}});
  }
  return CheckTypes(request.types());
}

}  // namespace

grpc::ServerUnaryReactor* LogService::Append(grpc::CallbackServerContext* context, const grpc::ByteBuffer* in,
                                             grpc::ByteBuffer* out) {
  return RunUnaryAsync<v1::AppendRequest, v1::AppendResponse>(
      context, pool_, in, out,
      [this](v1::AppendRequest request, std::function<void(absl::StatusOr<v1::AppendResponse>)> done) {
        const absl::Status queued = shards_.Append(std::make_shared<v1::AppendRequest>(std::move(request)), done);
        if (!queued.ok()) done(queued);
      },
      kEventType);
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* LogService::ReadSession(grpc::CallbackServerContext*,
                                                                    const grpc::ByteBuffer* in) {
  v1::ReadSessionRequest request;
  absl::Status status = ParseStrictly(*in, request, "");
  if (status.ok()) status = CheckRead(request);
  if (!status.ok()) return PushStream::Refuse(status);
  const ShardId shard = shards_.ShardOfTenant(request.tenant_id());
  return new ReadSessionReactor(store_, shard, pool_, std::move(request));
}

grpc::ServerUnaryReactor* LogService::GetSession(grpc::CallbackServerContext* context, const grpc::ByteBuffer* in,
                                                 grpc::ByteBuffer* out) {
  return RunUnary<v1::GetSessionRequest, v1::GetSessionResponse>(
      context, pool_, in, out, [this](const v1::GetSessionRequest& request, v1::GetSessionResponse& response) {
        return HandleGetSession(request, response);
      });
}

absl::Status LogService::HandleGetSession(const v1::GetSessionRequest& request, v1::GetSessionResponse& response) {
  DOCKET_RETURN_IF_ERROR(CheckNames(request));
  if (request.latest_events_size() > kMaxLatestEventTypes) {
    return FieldError(ERROR_REASON_INVALID_REQUEST, "latest_events",
                      absl::StrCat("at most ", kMaxLatestEventTypes, " types are allowed"));
  }
  const ShardId shard = shards_.ShardOfTenant(request.tenant_id());
  DOCKET_ASSIGN_OR_RETURN(
      const SessionAt session,
      ReadSessionState(store_, shard, request.tenant_id(), request.session_id(), Position{request.at_least()}));
  *response.mutable_session() = session.state.summary();
  response.set_position(session.position.value);
  DOCKET_ASSIGN_OR_RETURN(
      const std::vector<StoredEvent> latest,
      ReadLatest(store_, shard, session.state, request.latest_events(), request.latest_events_agent_id()));
  for (const StoredEvent& event : latest)
    *response.add_latest_events() = ToRecorded(event, request.tenant_id(), request.session_id());
  return absl::OkStatus();
}

grpc::ServerUnaryReactor* LogService::GetLogInfo(grpc::CallbackServerContext* context, const grpc::ByteBuffer* in,
                                                 grpc::ByteBuffer* out) {
  return RunUnary<v1::GetLogInfoRequest, v1::GetLogInfoResponse>(
      context, pool_, in, out, [this](const v1::GetLogInfoRequest&, v1::GetLogInfoResponse& response) {
        DOCKET_ASSIGN_OR_RETURN(const LogInfo info, store_.ReadLogInfo());
        response.set_shard_count(info.shard_count);
        *response.mutable_created_at() = ToProto(info.created_at);
        *response.mutable_list_lag() = ToProto(absl::Seconds(2));
        return absl::OkStatus();
      });
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* LogService::AppendStream(grpc::CallbackServerContext*) {
  return AppendStreamReactor::Serve(shards_, streams_);
}

grpc::ServerUnaryReactor* LogService::ListSessions(grpc::CallbackServerContext* context, const grpc::ByteBuffer* in,
                                                   grpc::ByteBuffer* out) {
  return RunUnary<v1::ListSessionsRequest, v1::ListSessionsResponse>(
      context, pool_, in, out, [this](const v1::ListSessionsRequest& request, v1::ListSessionsResponse& response) {
        DOCKET_ASSIGN_OR_RETURN(response, lister_.List(shards_.ShardOfTenant(request.tenant_id()), request));
        return absl::OkStatus();
      });
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* LogService::Subscribe(grpc::CallbackServerContext*,
                                                                  const grpc::ByteBuffer* in) {
  v1::SubscribeRequest request;
  absl::Status status = ParseStrictly(*in, request, "");
  if (status.ok()) status = CheckSubscribe(request, shards_.shard_count());
  if (!status.ok()) return PushStream::Refuse(status);
  return PushStream::Serve(std::make_shared<SubscribeStream>(store_, feeds_, shards_.shard_count(), std::move(request)),
                           stream_pool_, streams_);
}

}  // namespace docket::log
