#ifndef DOCKET_SERVICES_EDGE_PUSH_STREAM_H_
#define DOCKET_SERVICES_EDGE_PUSH_STREAM_H_

#include <memory>
#include <optional>
#include <variant>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "grpcpp/alarm.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "services/common/mutex.h"
#include "services/edge/stream_set.h"
#include "services/edge/worker_pool.h"

namespace docket {

// A stream on which the server sends what becomes known over time.
//
// Next() makes one message at a time, on the pool, never two calls at once; it may block. While it has nothing to say
// the stream sleeps until Wake() or the time it asked for. One write is in flight at most: a slow reader holds up only
// itself. Lives until gRPC is done with it and the last shared_ptr is gone.
class PushStream : public grpc::ServerWriteReactor<grpc::ByteBuffer>,
                   public EndableStream,
                   public std::enable_shared_from_this<PushStream> {
 public:
  // Starts `stream` and returns what the method returns. `pool` and `streams` must outlive the server.
  static grpc::ServerWriteReactor<grpc::ByteBuffer>* Serve(std::shared_ptr<PushStream> stream, WorkerPool& pool,
                                                           StreamSet& streams);
  // A stream that ends at once.
  static grpc::ServerWriteReactor<grpc::ByteBuffer>* Refuse(const absl::Status& status);

  // Something may have become known. Does not block; any thread.
  void Wake();
  void End(absl::Status status) override;

  void OnWriteDone(bool ok) final;
  void OnCancel() final;
  void OnDone() final;

 protected:
  // Nothing to say until then.
  struct Sleep {
    absl::Time until = absl::InfiniteFuture();
  };
  // The stream ends, in order or with an error.
  struct Finished {
    absl::Status status;
  };
  using Outcome = std::variant<grpc::ByteBuffer, Sleep, Finished>;

  virtual Outcome Next() = 0;
  // The last message, if any, of a stream that is ended by End(). Called at most once.
  virtual std::optional<grpc::ByteBuffer> Farewell() { return std::nullopt; }
  // gRPC is done with it: lets go of what wakes it.
  virtual void Stopped() {}

 private:
  void Schedule();
  void Work();
  bool GoToSleep(absl::Time until);
  void SetAlarm(absl::Time until) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FinishOnce(const absl::Status& status);

  WorkerPool* pool_ = nullptr;
  std::shared_ptr<PushStream> self_;  // until OnDone
  Mutex mutex_;
  bool working_ ABSL_GUARDED_BY(mutex_) = true;  // Next() runs or is about to, or a write is in flight
  bool woken_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  bool said_farewell_ ABSL_GUARDED_BY(mutex_) = false;
  std::unique_ptr<grpc::Alarm> alarm_ ABSL_GUARDED_BY(mutex_);
  absl::Time alarm_at_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);
  grpc::ByteBuffer message_;  // the write in flight
};

}  // namespace docket

#endif  // DOCKET_SERVICES_EDGE_PUSH_STREAM_H_
