#ifndef DOCKET_SERVICES_TODO_RPC_TODO_SERVICE_H_
#define DOCKET_SERVICES_TODO_RPC_TODO_SERVICE_H_

#include "absl/time/time.h"
#include "docket/todo/v1/todo_service.grpc.pb.h"
#include "services/common/clock.h"
#include "services/edge/stream_set.h"
#include "services/edge/worker_pool.h"
#include "services/todo/core/event_log.h"
#include "services/todo/core/plan_cache.h"
#include "services/todo/core/plan_queues.h"
#include "services/todo/core/plan_reader.h"
#include "services/todo/core/plan_writer.h"
#include "services/todo/core/policy_source.h"

namespace docket::todo {

// docket-todo's rpcs: parses, hands to a writer, a reader or a watch, answers. See todo_service.proto for what each
// promises.
//
// Thread-safe. What it is given must outlive the server that serves it.
class TodoService
    : public v1::TodoService::WithRawCallbackMethod_WriteTodos<v1::TodoService::WithRawCallbackMethod_GetPlan<
          v1::TodoService::WithRawCallbackMethod_ListPlans<v1::TodoService::WithRawCallbackMethod_GetPlanHistory<
              v1::TodoService::WithRawCallbackMethod_WatchPlans<v1::TodoService::Service>>>>> {
 public:
  // Which threads do what.
  struct Pools {
    WorkerPool& writes;
    WorkerPool& reads;
    WorkerPool& streams;
  };

  TodoService(EventLog& log, PlanCache& cache, PolicySource& policies, const Clock& clock, Pools pools,
              StreamSet& streams);

  grpc::ServerUnaryReactor* WriteTodos(grpc::CallbackServerContext* context, const grpc::ByteBuffer* in,
                                       grpc::ByteBuffer* out) override;
  grpc::ServerUnaryReactor* GetPlan(grpc::CallbackServerContext* context, const grpc::ByteBuffer* in,
                                    grpc::ByteBuffer* out) override;
  grpc::ServerUnaryReactor* ListPlans(grpc::CallbackServerContext* context, const grpc::ByteBuffer* in,
                                      grpc::ByteBuffer* out) override;
  grpc::ServerUnaryReactor* GetPlanHistory(grpc::CallbackServerContext* context, const grpc::ByteBuffer* in,
                                           grpc::ByteBuffer* out) override;
  grpc::ServerWriteReactor<grpc::ByteBuffer>* WatchPlans(grpc::CallbackServerContext* context,
                                                         const grpc::ByteBuffer* in) override;

 private:
  EventLog& log_;
  PlanCache& cache_;
  const Clock& clock_;
  const Pools pools_;
  StreamSet& streams_;
  PlanWriter writer_;
  PlanReader reader_;
  PlanQueues queues_;
};

}  // namespace docket::todo

#endif  // DOCKET_SERVICES_TODO_RPC_TODO_SERVICE_H_
