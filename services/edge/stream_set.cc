#include "services/edge/stream_set.h"

#include <algorithm>
#include <utility>

#include "services/common/errors.h"

namespace docket {
namespace {

absl::Status Draining() {
  return WithRetryAfter(MakeError(v1::ERROR_REASON_DRAINING, "the server is shutting down; resume elsewhere"),
                        absl::Milliseconds(200));
}

}  // namespace

absl::Status StreamSet::Add(std::weak_ptr<EndableStream> stream) {
  MutexLock lock(&mutex_);
  if (draining_) return Draining();
  if (streams_.size() >= sweep_at_) {
    std::erase_if(streams_, [](const auto& s) { return s.expired(); });
    sweep_at_ = std::max<size_t>(64, 2 * streams_.size());
  }
  streams_.push_back(std::move(stream));
  return absl::OkStatus();
}

void StreamSet::EndAll() {
  std::vector<std::weak_ptr<EndableStream>> streams;
  {
    MutexLock lock(&mutex_);
    draining_ = true;
    streams.swap(streams_);
  }
  for (const auto& weak : streams) {
    if (const auto stream = weak.lock()) stream->End(Draining());
  }
}

}  // namespace docket
