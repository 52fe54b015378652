#ifndef DOCKET_SERVICES_EDGE_STREAM_SET_H_
#define DOCKET_SERVICES_EDGE_STREAM_SET_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "services/common/mutex.h"

namespace docket {

// A stream that the server can end.
class EndableStream {
 public:
  virtual ~EndableStream() = default;
  // Ends the stream with `status` as soon as its last write is done. Does not block; any thread; more than once.
  virtual void End(absl::Status status) = 0;
};

// The streams of a server, so that a drain ends them all. Thread-safe.
class StreamSet {
 public:
  // Errors: DRAINING once EndAll() was called.
  absl::Status Add(std::weak_ptr<EndableStream> stream);

  // Ends every stream, and refuses those to come, with DRAINING.
  void EndAll();

 private:
  Mutex mutex_;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  size_t sweep_at_ ABSL_GUARDED_BY(mutex_) = 64;
  std::vector<std::weak_ptr<EndableStream>> streams_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace docket

#endif  // DOCKET_SERVICES_EDGE_STREAM_SET_H_
