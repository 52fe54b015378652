#ifndef DOCKET_SERVICES_TODO_LOGCLIENT_GRPC_EVENT_LOG_H_
#define DOCKET_SERVICES_TODO_LOGCLIENT_GRPC_EVENT_LOG_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "docket/log/v1/log_service.grpc.pb.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "services/common/mutex.h"
#include "services/todo/core/event_log.h"

namespace docket::todo {

// docket-log over gRPC.
//
// Calls fail at once when no docket-log can be reached. Each shard that is followed has a thread, which subscribes
// from where it stood whenever a stream ends. Thread-safe. The destructor stops it.
class GrpcEventLog : public EventLog {
 public:
  // Asks the log what never changes, until it answers. Errors: LOG_UNAVAILABLE after `patience`.
  static absl::StatusOr<std::unique_ptr<GrpcEventLog>> Create(std::shared_ptr<grpc::Channel> channel,
                                                              absl::Duration patience);
  ~GrpcEventLog() override;

  int32_t shard_count() const override { return shard_count_; }
  absl::StatusOr<log::v1::AppendResponse> Append(const log::v1::AppendRequest& request, absl::Time deadline) override;
  absl::StatusOr<std::vector<log::v1::RecordedEvent>> Read(const log::v1::ReadSessionRequest& request, size_t max_bytes,
                                                           absl::Time deadline) override;
  absl::StatusOr<log::v1::ListSessionsResponse> ListSessions(const log::v1::ListSessionsRequest& request,
                                                             absl::Time deadline) override;
  void LoadSession(const std::string& tenant_id, const std::string& session_id, int64_t at_least,
                   std::function<void(absl::StatusOr<Session>)> done) override;
  void Follow(int32_t shard, LogFollower& follower) override;
  void Stop() override;

 private:
  struct LoadCall;
  // How far a shard was followed.
  struct Followed {
    int32_t shard = 0;
    std::optional<int64_t> after;  // nothing: from now
    bool is_void = false;          // what was told before the next CaughtUp is
  };

  GrpcEventLog(std::shared_ptr<grpc::Channel> channel, int32_t shard_count);
  void FollowShard(int32_t shard, LogFollower& follower);
  // One stream, to its end. Returns whether anything came.
  bool Subscribe(Followed& followed, LogFollower& follower);
  void Tell(const log::v1::SubscribeResponse& response, Followed& followed, LogFollower& follower);
  // So that Stop() ends the call. False: it is stopped.
  bool Enter(grpc::ClientContext* context);
  void Leave(grpc::ClientContext* context);
  // Whether it was stopped before.
  bool Pause(absl::Duration delay);

  const std::unique_ptr<log::v1::LogService::Stub> stub_;
  const int32_t shard_count_;
  Mutex mutex_;
  CondVar changed_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  absl::flat_hash_set<grpc::ClientContext*> calls_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> followers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace docket::todo

#endif  // DOCKET_SERVICES_TODO_LOGCLIENT_GRPC_EVENT_LOG_H_
