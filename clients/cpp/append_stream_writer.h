#ifndef DOCKET_CLIENTS_CPP_APPEND_STREAM_WRITER_H_
#define DOCKET_CLIENTS_CPP_APPEND_STREAM_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "docket/log/v1/log_service.grpc.pb.h"
#include "grpcpp/channel.h"
#include "services/common/mutex.h"

namespace docket::client {

// Appends many requests, of any sessions, without waiting for each.
//
// Requests are sent in order over one AppendStream; when it ends with a failure that may pass, everything that was not
// acknowledged is sent again on a new one, with the same event ids. A refused request is reported and the rest goes on.
//
// Write() and Finish() belong to one thread. `refused` runs on another, one call at a time.
class AppendStreamWriter {
 public:
  struct Options {
    size_t max_window_requests = 256;
    size_t max_window_bytes = 4 << 20;
    // How long the log may be away.
    absl::Duration patience = absl::Seconds(60);
  };
  struct Totals {
    int64_t requests = 0;
    int64_t refused = 0;
    int64_t appended_events = 0;
    int64_t known_events = 0;  // stored before
  };
  using Refused = std::function<void(const log::v1::AppendRequest& request, const absl::Status& status)>;

  AppendStreamWriter(std::shared_ptr<grpc::Channel> channel, Refused refused, Options options);
  // Gives up what was not acknowledged.
  ~AppendStreamWriter();

  // Queues a request; blocks while the window is full. Errors: what ended it for good.
  absl::Status Write(log::v1::AppendRequest request);
  // Waits until every request was answered. Errors: what ended it for good. Nothing may be written afterwards.
  absl::Status Finish();

  Totals totals();

 private:
  class Stream;
  struct Pending {
    log::v1::AppendRequest request;
    size_t bytes = 0;
  };

  void Run();
  // One stream, to its end. OK: everything was answered and no more will come.
  absl::Status RunStream();
  void ReadAnswers(Stream& stream);
  void Answered(int64_t through) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::unique_ptr<log::v1::LogService::Stub> stub_;
  const Refused refused_;
  const Options options_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<Pending> window_ ABSL_GUARDED_BY(mutex_);  // not answered yet
  size_t window_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t sent_ ABSL_GUARDED_BY(mutex_) = 0;           // of window_, on this stream
  int64_t answered_ ABSL_GUARDED_BY(mutex_) = 0;      // on this stream
  bool stream_over_ ABSL_GUARDED_BY(mutex_) = false;  // this one
  bool no_more_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  bool over_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status end_ ABSL_GUARDED_BY(mutex_);
  Totals totals_ ABSL_GUARDED_BY(mutex_);
  Stream* stream_ ABSL_GUARDED_BY(mutex_) = nullptr;
  std::thread thread_;
};

}  // namespace docket::client

#endif  // DOCKET_CLIENTS_CPP_APPEND_STREAM_WRITER_H_
