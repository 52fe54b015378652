#ifndef DOCKET_SERVICES_COMMON_PROTO_CHECK_H_
#define DOCKET_SERVICES_COMMON_PROTO_CHECK_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"

namespace docket {

// Parses a request that came over the wire. Errors: INVALID_REQUEST that names the first string field that is not valid
// UTF-8, or says that the bytes are no such message at all.
absl::Status ParseRequest(absl::string_view bytes, google::protobuf::Message& request);

// The path of the first unknown field in `message` or a message inside it, such as `items[2].#17`; nothing if it has
// none. Messages of type `except` (a full name), and what is inside them, may have unknown fields.
std::optional<std::string> FindUnknownField(const google::protobuf::Message& message, absl::string_view except = "");

// INVALID_REQUEST if FindUnknownField() finds one.
absl::Status RefuseUnknownFields(const google::protobuf::Message& request, absl::string_view except = "");

}  // namespace docket

#endif  // DOCKET_SERVICES_COMMON_PROTO_CHECK_H_
