#ifndef DOCKET_SERVICES_LOG_RPC_READ_SESSION_REACTOR_H_
#define DOCKET_SERVICES_LOG_RPC_READ_SESSION_REACTOR_H_

#include <optional>

#include "absl/status/status.h"
#include "docket/log/v1/log_service.pb.h"
#include "grpcpp/grpcpp.h"
#include "services/edge/worker_pool.h"
#include "services/log/core/event_store.h"
#include "services/log/core/session_reader.h"

namespace docket::log {

// One ReadSession: reads a page on the pool, writes it, and reads the next when that is done. Never two things at once,
// so it needs no lock; a cancelled call ends at its next write. Deletes itself.
class ReadSessionReactor : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
 public:
  ReadSessionReactor(EventStore& store, ShardId shard, WorkerPool& pool, v1::ReadSessionRequest request);

  void OnWriteDone(bool ok) override;
  void OnDone() override { delete this; }

 private:
  void Next();
  absl::Status ReadPage();

  EventStore& store_;
  const ShardId shard_;
  WorkerPool& pool_;
  const v1::ReadSessionRequest request_;
  std::optional<SessionAt> session_;
  SessionRange range_;
  int64_t left_ = 0;  // how many events may still be sent
  bool done_ = false;
  grpc::ByteBuffer message_;
};

}  // namespace docket::log

#endif  // DOCKET_SERVICES_LOG_RPC_READ_SESSION_REACTOR_H_
