#ifndef DOCKET_CLIENTS_CLI_EVENT_BATCHER_H_
#define DOCKET_CLIENTS_CLI_EVENT_BATCHER_H_

#include <cstddef>
#include <functional>
#include <string>
#include <utility>

#include "clients/harness/transcript_parser.h"
#include "docket/log/v1/log_service.pb.h"

namespace docket::cli {

// What one request holds at most. A refused request loses all of its events, so it is not made as large as it could be.
inline constexpr int kMaxBatchEvents = 32;
inline constexpr size_t kMaxBatchBytes = 512 << 10;

// Makes requests of events: consecutive ones of a session together. Not thread-safe.
class EventBatcher {
 public:
  EventBatcher(std::string tenant, std::function<void(log::v1::AppendRequest)> send)
      : tenant_(std::move(tenant)), send_(std::move(send)) {}

  void Add(harness::ParsedEvent parsed);
  // Sends what is held.
  void Flush();

 private:
  const std::string tenant_;
  const std::function<void(log::v1::AppendRequest)> send_;
  log::v1::AppendRequest batch_;
  size_t bytes_ = 0;
};

}  // namespace docket::cli

#endif  // DOCKET_CLIENTS_CLI_EVENT_BATCHER_H_
