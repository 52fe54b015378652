#include "services/common/list_rules.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "services/common/errors.h"
#include "services/common/status_macros.h"

namespace docket {
namespace {

// The length of the well-formed sequence at the start of `text`, 0 if there is none.
size_t SequenceLength(absl::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto tail = [&](size_t i) { return byte(i) >= 0x80 && byte(i) <= 0xbf; };
  const unsigned first = byte(0);
  if (first < 0x80) return text.empty() ? 0 : 1;
  if (first >= 0xc2 && first <= 0xdf) return tail(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    if ((first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) > 0x9f)) return 0;
    return tail(1) && tail(2) ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    if ((first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) > 0x8f)) return 0;
    return tail(1) && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

// Whether a character is a control character that an item's text may not have. `size` is its length at `text`'s start.
bool IsControl(absl::string_view text, size_t size) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (size == 1) return (first < 0x20 && first != '\n' && first != '\t') || first == 0x7f;
  return size == 2 && first == 0xc2 && static_cast<unsigned char>(text[1]) <= 0x9f;
}

// The characters of Unicode's White_Space that are more than one byte, as UTF-8.
constexpr absl::string_view kWideSpaces[] = {"\u0085", "\u00a0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003",
                                             "\u2004", "\u2005", "\u2006", "\u2007", "\u2008", "\u2009", "\u200a",
                                             "\u2028", "\u2029", "\u202f", "\u205f", "\u3000"};

size_t LeadingSpace(absl::string_view text) {
  if (text.empty()) return 0;
  if (text[0] == ' ' || (text[0] >= '\t' && text[0] <= '\r')) return 1;
  for (absl::string_view space : kWideSpaces) {
    if (text.substr(0, space.size()) == space) return space.size();
  }
  return 0;
}

size_t TrailingSpace(absl::string_view text) {
  if (text.empty()) return 0;
  const char last = text[text.size() - 1];
  if (last == ' ' || (last >= '\t' && last <= '\r')) return 1;
  for (absl::string_view space : kWideSpaces) {
    if (text.size() >= space.size() && text.substr(text.size() - space.size()) == space) return space.size();
  }
  return 0;
}

absl::Status Broken(v1::ErrorReason reason, absl::string_view path, absl::string_view rule, absl::string_view allowed,
                    absl::string_view text) {
  return FieldError(reason, path, text, {{"rule", std::string(rule)}, {"allowed", std::string(allowed)}});
}

absl::Status CheckText(v1::ErrorReason reason, absl::string_view path, absl::string_view text) {
  if (!IsValidUtf8(text)) {
    return Broken(reason, path, "valid_utf8", "valid UTF-8", "the text is not valid UTF-8");
  }
  if (text.size() > kMaxItemTextBytes) {
    return Broken(reason, path, "content_too_long", absl::StrCat("at most ", kMaxItemTextBytes, " bytes"),
                  absl::StrCat("the text has ", text.size(), " bytes, at most ", kMaxItemTextBytes, " are allowed"));
  }
  const size_t control = FindControlCharacter(text);
  if (control != absl::string_view::npos) {
    return Broken(
        reason, path, "control_characters", "no control characters but newline and tab",
        absl::StrCat("the text has a control character at byte ", control, "; only newline and tab are allowed"));
  }
  return absl::OkStatus();
}

absl::Status CheckItem(v1::ErrorReason reason, absl::string_view path, const todo::v1::TodoItem& item) {
  const std::string content_path = absl::StrCat(path, ".content");
  DOCKET_RETURN_IF_ERROR(CheckText(reason, content_path, item.content()));
  if (TrimText(item.content()).empty()) {
    return Broken(reason, content_path, "content_required", "a non-empty text",
                  "every item needs a content that says what is to be done");
  }
  if (TrimText(item.content()).size() != item.content().size()) {
    return Broken(reason, content_path, "trimmed", "no white space at the ends",
                  "the content has white space at its ends");
  }
  DOCKET_RETURN_IF_ERROR(CheckText(reason, absl::StrCat(path, ".active_form"), item.active_form()));
  if (item.status() < todo::v1::TODO_STATUS_PENDING || item.status() > todo::v1::TODO_STATUS_CANCELLED) {
    return Broken(reason, absl::StrCat(path, ".status"), "known_status", kStatusWords,
                  absl::StrCat("the status must be one of: ", kStatusWords));
  }
  if (!item.item_id().empty()) DOCKET_RETURN_IF_ERROR(CheckId(reason, absl::StrCat(path, ".item_id"), item.item_id()));
  if (!item.source_id().empty())
    DOCKET_RETURN_IF_ERROR(CheckId(reason, absl::StrCat(path, ".source_id"), item.source_id()));
  if (!item.priority().empty())
    DOCKET_RETURN_IF_ERROR(CheckId(reason, absl::StrCat(path, ".priority"), item.priority()));
  return absl::OkStatus();
}

}  // namespace

bool IsValidUtf8(absl::string_view text) {
  while (!text.empty()) {
    // Most text is ASCII.
    if (static_cast<unsigned char>(text[0]) < 0x80) {
      text.remove_prefix(1);
      continue;
    }
    const size_t size = SequenceLength(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

size_t FindControlCharacter(absl::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const size_t size = SequenceLength(text.substr(i));
    if (size == 0 || IsControl(text.substr(i), size)) return i;
    i += size;
  }
  return absl::string_view::npos;
}

std::string RemoveControlCharacters(absl::string_view text) {
  std::string kept;
  kept.reserve(text.size());
  while (!text.empty()) {
    const size_t size = std::max<size_t>(1, SequenceLength(text));
    if (!IsControl(text, size)) kept.append(text.data(), size);
    text.remove_prefix(size);
  }
  return kept;
}

absl::string_view TrimText(absl::string_view text) {
  while (const size_t size = LeadingSpace(text)) text.remove_prefix(size);
  while (const size_t size = TrailingSpace(text)) text.remove_suffix(size);
  return text;
}

absl::Status CheckId(v1::ErrorReason reason, absl::string_view field, absl::string_view id) {
  constexpr char kAllowed[] = "1-256 bytes of valid UTF-8 without control characters";
  const auto broken = [&](absl::string_view text) {
    return Broken(reason, field, "id", kAllowed, absl::StrCat(text, "; allowed: ", kAllowed));
  };
  if (id.empty()) return broken("the id is missing");
  if (id.size() > kMaxIdBytes) return broken(absl::StrCat("the id has ", id.size(), " bytes"));
  if (!IsValidUtf8(id)) return broken("the id is not valid UTF-8");
  if (FindControlCharacter(id) != absl::string_view::npos || id.find_first_of("\n\t") != absl::string_view::npos) {
    return broken("the id has a control character");
  }
  return absl::OkStatus();
}

absl::Status CheckList(v1::ErrorReason reason, const google::protobuf::RepeatedPtrField<todo::v1::TodoItem>& list,
                       absl::string_view prefix) {
  if (list.size() > kMaxListItems) {
    return Broken(reason, prefix, "max_items", absl::StrCat("at most ", kMaxListItems, " items"),
                  absl::StrCat("the list has ", list.size(), " items, at most ", kMaxListItems, " are allowed"));
  }
  absl::flat_hash_map<absl::string_view, int> contents, ids;
  size_t bytes = 0;
  for (int i = 0; i < list.size(); ++i) {
    const std::string path = absl::StrCat(prefix, "[", i, "]");
    DOCKET_RETURN_IF_ERROR(CheckItem(reason, path, list[i]));
    if (auto [other, is_new] = contents.emplace(list[i].content(), i); !is_new) {
      return Broken(
          reason, absl::StrCat(path, ".content"), "unique_content", "contents that differ within the list",
          absl::StrCat("items ", other->second, " and ", i, " have the same content; give each item its own"));
    }
    if (!list[i].item_id().empty()) {
      if (auto [other, is_new] = ids.emplace(list[i].item_id(), i); !is_new) {
        return Broken(reason, absl::StrCat(path, ".item_id"), "unique_id", "ids that differ within the list",
                      absl::StrCat("items ", other->second, " and ", i, " have the same id; give each item its own"));
      }
    }
    bytes += list[i].ByteSizeLong();
  }
  if (bytes > kMaxListBytes) {
    return Broken(reason, prefix, "max_bytes", absl::StrCat("at most ", kMaxListBytes, " bytes"),
                  absl::StrCat("the list has ", bytes, " bytes, at most ", kMaxListBytes, " are allowed"));
  }
  return absl::OkStatus();
}

}  // namespace docket
