#ifndef DOCKET_SERVICES_LOG_RPC_LOG_SERVICE_H_
#define DOCKET_SERVICES_LOG_RPC_LOG_SERVICE_H_

#include "docket/log/v1/log_service.grpc.pb.h"
#include "services/edge/stream_set.h"
#include "services/edge/worker_pool.h"
#include "services/log/core/event_store.h"
#include "services/log/core/feed_set.h"
#include "services/log/core/session_lister.h"
#include "services/log/core/shard_set.h"

namespace docket::log {

// docket-log's rpcs: parses, hands to a lane or reads the store, answers. See log_service.proto for what each promises.
//
// Thread-safe. What it is given must outlive the server that serves it.
class LogService
    : public v1::LogService::WithRawCallbackMethod_Append<v1::LogService::WithRawCallbackMethod_AppendStream<
          v1::LogService::WithRawCallbackMethod_ReadSession<v1::LogService::WithRawCallbackMethod_GetSession<
              v1::LogService::WithRawCallbackMethod_ListSessions<v1::LogService::WithRawCallbackMethod_Subscribe<
                  v1::LogService::WithRawCallbackMethod_GetLogInfo<v1::LogService::Service>>>>>>> {
 public:
  // `pool` runs calls that end by themselves, `stream_pool` those that go on.
  LogService(EventStore& store, ShardSet& shards, FeedSet& feeds, WorkerPool& pool, WorkerPool& stream_pool,
             StreamSet& streams)
      : store_(store),
        shards_(shards),
        feeds_(feeds),
        pool_(pool),
        stream_pool_(stream_pool),
        streams_(streams),
        lister_(store) {}

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* AppendStream(
      grpc::CallbackServerContext* context) override;
  grpc::ServerUnaryReactor* ListSessions(grpc::CallbackServerContext* context, const grpc::ByteBuffer* in,
                                         grpc::ByteBuffer* out) override;
  grpc::ServerWriteReactor<grpc::ByteBuffer>* Subscribe(grpc::CallbackServerContext* context,
                                                        const grpc::ByteBuffer* in) override;
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
  FeedSet& feeds_;
  WorkerPool& pool_;
  WorkerPool& stream_pool_;
  StreamSet& streams_;
  SessionLister lister_;
};

}  // namespace docket::log

#endif  // DOCKET_SERVICES_LOG_RPC_LOG_SERVICE_H_
