#ifndef DOCKET_SERVICES_LOG_RPC_LOG_SERVICE_H_
#define DOCKET_SERVICES_LOG_RPC_LOG_SERVICE_H_

#include "docket/log/v1/log_service.grpc.pb.h"
#include "services/edge/worker_pool.h"
#include "services/log/core/event_store.h"
#include "services/log/core/shard_set.h"

namespace docket::log {

// docket-log's rpcs: parses, hands to a lane or reads the store, answers. See log_service.proto for what each promises.
//
// Thread-safe. What it is given must outlive the server that serves it.
class LogService
    : public v1::LogService::WithRawCallbackMethod_Append<
          v1::LogService::WithRawCallbackMethod_ReadSession<v1::LogService::WithRawCallbackMethod_GetSession<
              v1::LogService::WithRawCallbackMethod_GetLogInfo<v1::LogService::CallbackService>>>> {
 public:
  LogService(EventStore& store, ShardSet& shards, WorkerPool& pool) : store_(store), shards_(shards), pool_(pool) {}

  grpc::ServerUnaryReactor* Append(grpc::CallbackServerContext* context, const grpc::ByteBuffer* in,
                                   grpc::ByteBuffer* out) override;
  grpc::ServerWriteReactor<grpc::ByteBuffer>* ReadSession(grpc::CallbackServerContext* context,
                                                          const grpc::ByteBuffer* in) override;
  grpc::ServerUnaryReactor* GetSession(grpc::CallbackServerContext* context, const grpc::ByteBuffer* in,
                                       grpc::ByteBuffer* out) override;
  grpc::ServerUnaryReactor* GetLogInfo(grpc::CallbackServerContext* context, const grpc::ByteBuffer* in,
                                       grpc::ByteBuffer* out) override;

 private:
  absl::Status HandleGetSession(const v1::GetSessionRequest& request, v1::GetSessionResponse& response);

  EventStore& store_;
  ShardSet& shards_;
  WorkerPool& pool_;
};

}  // namespace docket::log

#endif  // DOCKET_SERVICES_LOG_RPC_LOG_SERVICE_H_
