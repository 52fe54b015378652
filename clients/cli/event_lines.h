#ifndef DOCKET_CLIENTS_CLI_EVENT_LINES_H_
#define DOCKET_CLIENTS_CLI_EVENT_LINES_H_

#include <string>

#include "absl/strings/string_view.h"
#include "docket/log/v1/event.pb.h"

// Events as text. Pure.

namespace docket::cli {

// The event's type as it is typed: "todo_written"; "type 4711" for one that is not known here.
std::string EventTypeText(log::v1::EventType type);
// The type that is typed so; UNSPECIFIED if there is none.
log::v1::EventType EventTypeOf(absl::string_view text);
log::v1::EventType TypeOf(const log::v1::SessionEvent& event);

// What the event says, on one line, safe for a terminal, long texts cut.
std::string EventText(const log::v1::SessionEvent& event);

}  // namespace docket::cli

#endif  // DOCKET_CLIENTS_CLI_EVENT_LINES_H_
