#ifndef DOCKET_SERVICES_TODO_CORE_TODO_TEXT_H_
#define DOCKET_SERVICES_TODO_CORE_TODO_TEXT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "docket/todo/v1/todo.pb.h"
#include "services/todo/core/policy.h"

// The texts that a model reads. Pure functions; each text is one line.

namespace docket::todo {

// `content` for use inside a sentence: in double quotes, on one line, without control characters, cut at 60 bytes
// between characters. Also right for text that is not valid UTF-8.
std::string Excerpt(absl::string_view content);

// The first at most `max_bytes` bytes of `text`, not ending inside a character.
absl::string_view CutUtf8(absl::string_view text, size_t max_bytes);

// The answer to a write: the counts by status; that unfinished items were left out, if they were; and with the policy's
// verification_nudge the advice to verify, if the write completes the last of three or more items.
std::string ModelText(const google::protobuf::RepeatedPtrField<v1::TodoItem>& items,
                      const std::vector<v1::ItemChange>& changes, const std::vector<v1::TodoItem>& dropped_unfinished,
                      const Policy& policy);

// The answer to a refused write: why, what would be allowed, and that the list is unchanged.
std::string RejectionText(const absl::Status& refusal);

}  // namespace docket::todo

#endif  // DOCKET_SERVICES_TODO_CORE_TODO_TEXT_H_
