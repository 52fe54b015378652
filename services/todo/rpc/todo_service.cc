#include "services/todo/rpc/todo_service.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "absl/time/clock.h"
#include "services/edge/push_stream.h"
#include "services/edge/unary.h"
#include "services/todo/core/plan_watch.h"
#include "services/todo/rpc/watch_plans_stream.h"

namespace docket::todo {
namespace {

// Where the caller names no deadline, or one further away.
constexpr absl::Duration kMaxCall = absl::Seconds(30);
// A little before the caller's own, so that it gets the answer.
constexpr absl::Duration kAnswerBefore = absl::Milliseconds(50);
constexpr size_t kMaxWaitingWrites = 256;

absl::Time DeadlineOf(const grpc::CallbackServerContext& context) {
  return std::min(absl::FromChrono(context.deadline()) - kAnswerBefore, absl::Now() + kMaxCall);
}

}  // namespace

TodoService::TodoService(EventLog& log, PlanCache& cache, PolicySource& policies, const Clock& clock, Pools pools,
                         StreamSet& streams)
    : log_(log),
      cache_(cache),
      clock_(clock),
      pools_(pools),
      streams_(streams),
      writer_(log, cache, policies, clock),
      reader_(log, cache),
      queues_([&writes = pools.writes](std::function<void()> work) { return writes.Run(std::move(work)); },
              kMaxWaitingWrites) {}

grpc::ServerUnaryReactor* TodoService::WriteTodos(grpc::CallbackServerContext* context, const grpc::ByteBuffer* in,
                                                  grpc::ByteBuffer* out) {
  const absl::Time deadline = DeadlineOf(*context);
  return RunUnaryAsync<v1::WriteTodosRequest, v1::WriteTodosResponse>(
      context, pools_.reads, in, out,
      [this, deadline](v1::WriteTodosRequest request,
                       std::function<void(absl::StatusOr<v1::WriteTodosResponse>)> done) {
        const PlanKey plan{request.tenant_id(), request.session_id(), request.agent_id()};
        const auto shared = std::make_shared<const v1::WriteTodosRequest>(std::move(request));
        const absl::Status queued =
            queues_.Run(plan, [this, shared, deadline, done] { done(writer_.Write(*shared, deadline)); });
        if (!queued.ok()) done(queued);
      });
}

grpc::ServerUnaryReactor* TodoService::GetPlan(grpc::CallbackServerContext* context, const grpc::ByteBuffer* in,
                                               grpc::ByteBuffer* out) {
  const absl::Time deadline = DeadlineOf(*context);
  return RunUnary<v1::GetPlanRequest, v1::GetPlanResponse>(
      context, pools_.reads, in, out,
      [this, deadline](const v1::GetPlanRequest& request, v1::GetPlanResponse& response) {
        return reader_.GetPlan(request, deadline, response);
      });
}

grpc::ServerUnaryReactor* TodoService::ListPlans(grpc::CallbackServerContext* context, const grpc::ByteBuffer* in,
                                                 grpc::ByteBuffer* out) {
  const absl::Time deadline = DeadlineOf(*context);
  return RunUnary<v1::ListPlansRequest, v1::ListPlansResponse>(
      context, pools_.reads, in, out,
      [this, deadline](const v1::ListPlansRequest& request, v1::ListPlansResponse& response) {
        return reader_.ListPlans(request, deadline, response);
      });
}

grpc::ServerUnaryReactor* TodoService::GetPlanHistory(grpc::CallbackServerContext* context, const grpc::ByteBuffer* in,
                                                      grpc::ByteBuffer* out) {
  const absl::Time deadline = DeadlineOf(*context);
  return RunUnary<v1::GetPlanHistoryRequest, v1::GetPlanHistoryResponse>(
      context, pools_.reads, in, out,
      [this, deadline](const v1::GetPlanHistoryRequest& request, v1::GetPlanHistoryResponse& response) {
        return reader_.GetPlanHistory(request, deadline, response);
      });
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* TodoService::WatchPlans(grpc::CallbackServerContext*,
                                                                    const grpc::ByteBuffer* in) {
  v1::WatchPlansRequest request;
  absl::Status status = ParseStrictly(*in, request, "");
  if (status.ok()) status = CheckWatch(request);
  if (!status.ok()) return PushStream::Refuse(status);
  return PushStream::Serve(std::make_shared<WatchPlansStream>(log_, cache_, clock_, std::move(request)), pools_.streams,
                           streams_);
}

}  // namespace docket::todo
