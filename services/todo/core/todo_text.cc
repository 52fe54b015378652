#include "services/todo/core/todo_text.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "services/common/list_rules.h"
#include "services/todo/core/plan_view.h"

namespace docket::todo {
namespace {

constexpr size_t kExcerptBytes = 60;
// As many dropped items are named; the counts tell of the rest.
constexpr size_t kNamedItems = 3;
constexpr int kNudgeItems = 3;

bool Completes(const v1::ItemChange& change) {
  return (change.kind() == v1::ITEM_CHANGE_KIND_STATUS || change.kind() == v1::ITEM_CHANGE_KIND_ADDED) &&
         change.new_status() == v1::TODO_STATUS_COMPLETED;
}

std::string DroppedText(const std::vector<v1::TodoItem>& dropped) {
  std::string text = absl::StrCat(" This write left out ", dropped.size(), " unfinished item",
                                  dropped.size() == 1 ? "" : "s", " of the list before: ");
  for (size_t i = 0; i < std::min(dropped.size(), kNamedItems); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", Excerpt(dropped[i].content()));
  }
  if (dropped.size() > kNamedItems) absl::StrAppend(&text, " and ", dropped.size() - kNamedItems, " more");
  return absl::StrCat(text, ".");
}

// The invisible characters that change how the text around them is drawn: U+200B-200F, U+2028-202E, U+2060-2069,
// U+FEFF.
bool IsInvisible(absl::string_view character) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() != 3) return false;
  if (byte(0) == 0xef) return byte(1) == 0xbb && byte(2) == 0xbf;
  if (byte(0) != 0xe2) return false;
  if (byte(1) == 0x80) return (byte(2) >= 0x8b && byte(2) <= 0x8f) || (byte(2) >= 0xa8 && byte(2) <= 0xae);
  return byte(1) == 0x81 && byte(2) >= 0xa0 && byte(2) <= 0xa9;
}

// The length of the character at the start of `text`, 0 if it is malformed. `text` is not empty.
size_t CharacterLength(absl::string_view text) {
  for (size_t size = 1; size <= std::min<size_t>(4, text.size()); ++size) {
    if (IsValidUtf8(text.substr(0, size))) return size;
  }
  return 0;
}

}  // namespace

absl::string_view CutUtf8(absl::string_view text, size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  size_t end = max_bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end);
}

std::string Excerpt(absl::string_view content) {
  std::string text = "\"";
  while (!content.empty()) {
    const size_t size = CharacterLength(content);
    const absl::string_view character = content.substr(0, std::max<size_t>(1, size));
    if (text.size() + character.size() > kExcerptBytes + 1) {
      text += "…";
      break;
    }
    content.remove_prefix(character.size());
    if (size == 0) {
      text += '?';
    } else if (FindControlCharacter(character) != absl::string_view::npos || IsInvisible(character) ||
               character == "\n" || character == "\t") {
      text += ' ';
    } else if (character == "\"") {
      text += '\'';
    } else {
      text.append(character.data(), character.size());
    }
  }
  return text + "\"";
}

std::string ModelText(const google::protobuf::RepeatedPtrField<v1::TodoItem>& items,
                      const std::vector<v1::ItemChange>& changes, const std::vector<v1::TodoItem>& dropped_unfinished,
                      const Policy& policy) {
  const v1::TodoCounts counts = CountItems(items);
  std::string text = absl::StrCat("Updated todo list: ", counts.pending(), " pending, ", counts.in_progress(),
                                  " in progress, ", counts.completed(), " completed");
  if (counts.cancelled() > 0) absl::StrAppend(&text, ", ", counts.cancelled(), " cancelled");
  text += ".";
  if (!dropped_unfinished.empty()) text += DroppedText(dropped_unfinished);
  const bool completes_last =
      items.size() >= kNudgeItems && AllFinished(items) && std::any_of(changes.begin(), changes.end(), Completes);
  if (policy.verification_nudge() && completes_last) {
    text += " All items are finished: verify the result before you report it.";
  }
  return text;
}

std::string RejectionText(const absl::Status& refusal) {
  return absl::StrCat("The todo list was not changed. ", refusal.message());
}

}  // namespace docket::todo
