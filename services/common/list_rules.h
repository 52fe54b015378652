#ifndef DOCKET_SERVICES_COMMON_LIST_RULES_H_
#define DOCKET_SERVICES_COMMON_LIST_RULES_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "docket/todo/v1/todo.pb.h"
#include "docket/v1/error_reason.pb.h"

// The rules that hold for every stored list, whatever the policy was, and the text rules they are made of. Pure.
//
// Used by docket-log (which refuses events that break them), docket-todo (which judges writes by them first) and the
// importers (which repair what can be repaired, and report it).

namespace docket {

inline constexpr size_t kMaxIdBytes = 256;
inline constexpr int kMaxListItems = 1000;
inline constexpr size_t kMaxListBytes = 1 << 20;
inline constexpr size_t kMaxItemTextBytes = 64 << 10;

// Whether `text` is well-formed UTF-8 (Unicode 15, table 3-7).
bool IsValidUtf8(absl::string_view text);

// Where the first character stands that an item's text may not have: a control character (U+0000-001F but newline and
// tab, U+007F-009F). npos if there is none. `text` is valid UTF-8.
size_t FindControlCharacter(absl::string_view text);

// `text` without those characters.
std::string RemoveControlCharacters(absl::string_view text);

// `text` without white space (ASCII, and the spaces of Unicode's White_Space) at its ends. `text` is valid UTF-8.
absl::string_view TrimText(absl::string_view text);

// OK if `id` may be an id: 1-256 bytes of valid UTF-8 without control characters (newline and tab included). Else
// `reason` with `field`.
absl::Status CheckId(v1::ErrorReason reason, absl::string_view field, absl::string_view id);

// The allowed words for a status, for messages: "pending, in_progress, completed, cancelled".
inline constexpr char kStatusWords[] = "pending, in_progress, completed, cancelled";

// OK if `list` may be stored. Else `reason` with the path below `prefix` ("items[2].content"), and `rule` and `allowed`
// as metadata. Rules, by `rule`: max_items, max_bytes, known_status, content_required, content_too_long, valid_utf8,
// control_characters, trimmed, unique_content, unique_id.
absl::Status CheckList(v1::ErrorReason reason, const google::protobuf::RepeatedPtrField<todo::v1::TodoItem>& list,
                       absl::string_view prefix = "items");

}  // namespace docket

#endif  // DOCKET_SERVICES_COMMON_LIST_RULES_H_
