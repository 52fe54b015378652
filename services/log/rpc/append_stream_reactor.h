#ifndef DOCKET_SERVICES_LOG_RPC_APPEND_STREAM_REACTOR_H_
#define DOCKET_SERVICES_LOG_RPC_APPEND_STREAM_REACTOR_H_

#include <deque>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "docket/log/v1/log_service.pb.h"
#include "grpcpp/grpcpp.h"
#include "services/common/mutex.h"
#include "services/edge/stream_set.h"
#include "services/log/core/shard_set.h"

namespace docket::log {

// One AppendStream: queues each request on its lane as it is read, and answers in order. Reads on only while fewer than
// kAppendStreamWindow requests are without an answer that was written.
//
// Thread-safe. Lives until gRPC and the lanes are done with it.
class AppendStreamReactor : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                            public EndableStream,
                            public std::enable_shared_from_this<AppendStreamReactor> {
 public:
  // Returns what the method returns. `shards` and `streams` must outlive the server.
  static grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Serve(ShardSet& shards, StreamSet& streams);

  explicit AppendStreamReactor(ShardSet& shards) : shards_(shards) {}

  // What is queued is still answered, then the stream ends.
  void End(absl::Status status) override;

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override { self_.reset(); }

 private:
  using Answer = absl::StatusOr<v1::AppendResponse>;

  void Submit(const grpc::ByteBuffer& in, int64_t number);
  void Answered(int64_t number, Answer answer);
  // Starts whatever can be started: a read, a write, or the end.
  void Proceed();
  std::optional<v1::AppendStreamResponse> NextResponse() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  ShardSet& shards_;
  const std::shared_ptr<AppendLane::Order> order_ = std::make_shared<AppendLane::Order>();
  std::shared_ptr<AppendStreamReactor> self_;  // until OnDone
  grpc::ByteBuffer incoming_;
  grpc::ByteBuffer outgoing_;

  Mutex mutex_;
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool all_read_ ABSL_GUARDED_BY(mutex_) = false;  // the caller closed its side, or nothing more is taken
  bool gone_ ABSL_GUARDED_BY(mutex_) = false;      // nobody reads answers any more
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);  // how the stream ends once what is queued is answered
  int64_t submitted_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t answered_ ABSL_GUARDED_BY(mutex_) = 0;  // requests with an answer, in any order
  int64_t told_ ABSL_GUARDED_BY(mutex_) = 0;      // answers up to here were written or are being written
  int64_t written_ ABSL_GUARDED_BY(mutex_) = 0;   // ... were written
  std::deque<std::optional<Answer>> answers_ ABSL_GUARDED_BY(mutex_);  // of the requests from told_ + 1 on
  int64_t appended_events_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t known_events_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace docket::log

#endif  // DOCKET_SERVICES_LOG_RPC_APPEND_STREAM_REACTOR_H_
