#ifndef DOCKET_SERVICES_LOG_CORE_RECORDED_BYTES_H_
#define DOCKET_SERVICES_LOG_CORE_RECORDED_BYTES_H_

#include <string>

#include "absl/strings/string_view.h"
#include "services/log/core/event_store.h"

// Answers made of stored bytes, without parsing and serialising every payload again.

namespace docket::log {

// Appends field `field`, of a length-delimited type, to a message's bytes.
void AppendField(std::string& message, int field, absl::string_view bytes);

// A v1::RecordedEvent's bytes: what ToRecorded() (session_reader.h) is serialised.
std::string RecordedBytes(const StoredEvent& event, const std::string& tenant_id, const std::string& session_id);

}  // namespace docket::log

#endif  // DOCKET_SERVICES_LOG_CORE_RECORDED_BYTES_H_
