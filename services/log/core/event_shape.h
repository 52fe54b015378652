#ifndef DOCKET_SERVICES_LOG_CORE_EVENT_SHAPE_H_
#define DOCKET_SERVICES_LOG_CORE_EVENT_SHAPE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "docket/log/v1/event.pb.h"
#include "docket/log/v1/log_service.pb.h"

// The rules for events and appends that depend on nothing that is stored. Pure.

namespace docket::log {

// The number of the event map's field that `event` has, known to this build or not. 0: none.
int32_t TypeOf(const v1::SessionEvent& event);

// What is stored of an event: its serialisation, the same for equal events.
std::string PayloadOf(const v1::SessionEvent& event);

// OK if the request may be judged. Errors: INVALID_REQUEST, INVALID_EVENT, INVALID_TODO (lists), EVENT_TOO_LARGE,
// REQUEST_TOO_LARGE, each with the path of the field.
absl::Status CheckAppendShape(const v1::AppendRequest& request);

// OK if `types` may filter a read: at most 64 numbers of the event map, known to this build or not. Else
// INVALID_REQUEST.
absl::Status CheckTypes(const google::protobuf::RepeatedField<int>& types);

}  // namespace docket::log

#endif  // DOCKET_SERVICES_LOG_CORE_EVENT_SHAPE_H_
