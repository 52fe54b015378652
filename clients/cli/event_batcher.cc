#include "clients/cli/event_batcher.h"

#include <utility>

namespace docket::cli {

void EventBatcher::Add(harness::ParsedEvent parsed) {
  const size_t bytes = parsed.event.ByteSizeLong();
  // Other files may have told of it, and only the first events of a request may be known.
  const bool is_shared = parsed.event.has_agent_spawned();
  if (batch_.events_size() > 0 && (is_shared || batch_.session_id() != parsed.session_id ||
                                   batch_.events_size() == kMaxBatchEvents || bytes_ + bytes > kMaxBatchBytes)) {
    Flush();
  }
  batch_.set_session_id(parsed.session_id);
  *batch_.add_events() = std::move(parsed.event);
  bytes_ += bytes;
}

void EventBatcher::Flush() {
  if (batch_.events_size() == 0) return;
  batch_.set_tenant_id(tenant_);
  send_(std::exchange(batch_, {}));
  bytes_ = 0;
}

}  // namespace docket::cli
