#include "clients/cli/terminal_text.h"

#include <utf8proc.h>

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace docket::cli {
namespace {

constexpr absl::string_view kReplacement = "\xEF\xBF\xBD";
constexpr absl::string_view kEllipsis = "\xE2\x80\xA6";

// The code point at the start of `text` and its length; -1 and 1 where there is none.
int NextCodePoint(absl::string_view text, utf8proc_int32_t& code) {
  const utf8proc_ssize_t length = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                                   static_cast<utf8proc_ssize_t>(text.size()), &code);
  if (length > 0) return static_cast<int>(length);
  code = -1;
  return 1;
}

// Marks, embeddings, overrides and isolates of the bidirectional algorithm (UAX #9).
bool ChangesDirection(utf8proc_int32_t code) {
  return code == 0x061C || code == 0x200E || code == 0x200F || (code >= 0x202A && code <= 0x202E) ||
         (code >= 0x2066 && code <= 0x2069);
}

constexpr utf8proc_int32_t kEmojiPresentation = 0xFE0F;

// Calls `visit(cluster, columns)` for each grapheme cluster until it returns false.
template <typename Visit>
void ForEachCluster(absl::string_view text, Visit visit) {
  size_t begin = 0, at = 0;
  int columns = 0;
  utf8proc_int32_t previous = -1, state = 0;
  while (at < text.size()) {
    utf8proc_int32_t code;
    const int length = NextCodePoint(text.substr(at), code);
    const int width = code < 0 ? 1 : utf8proc_charwidth(code);
    const bool breaks =
        at > begin && (code < 0 || previous < 0 || utf8proc_grapheme_break_stateful(previous, code, &state));
    if (breaks) {
      if (!visit(text.substr(begin, at - begin), columns)) return;
      begin = at;
      columns = 0;
      state = 0;
    }
    columns = code == kEmojiPresentation ? 2 : std::max(columns, width);
    previous = code;
    at += static_cast<size_t>(length);
  }
  if (at > begin) visit(text.substr(begin), columns);
}

}  // namespace

std::string SafeText(absl::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  while (!text.empty()) {
    utf8proc_int32_t code;
    const int length = NextCodePoint(text, code);
    const absl::string_view bytes = text.substr(0, static_cast<size_t>(length));
    text.remove_prefix(static_cast<size_t>(length));
    if (code < 0) {
      absl::StrAppend(&safe, kReplacement);
      continue;
    }
    switch (utf8proc_category(code)) {
      case UTF8PROC_CATEGORY_CC:
        absl::StrAppend(&safe, code == '\n' || code == '\t' || code == '\r' ? " " : kReplacement);
        break;
      case UTF8PROC_CATEGORY_ZL:
      case UTF8PROC_CATEGORY_ZP:
        absl::StrAppend(&safe, " ");
        break;
      case UTF8PROC_CATEGORY_CS:
        absl::StrAppend(&safe, kReplacement);
        break;
      default:
        absl::StrAppend(&safe, ChangesDirection(code) ? kReplacement : bytes);
    }
  }
  return safe;
}

int TextWidth(absl::string_view text) {
  int width = 0;
  ForEachCluster(text, [&width](absl::string_view, int columns) {
    width += columns;
    return true;
  });
  return width;
}

std::string CutText(absl::string_view text, int columns) {
  if (columns <= 0) return "";
  int width = 0;
  size_t fits = 0;       // bytes that fit in `columns`
  size_t fits_less = 0;  // bytes that leave room for the ellipsis
  ForEachCluster(text, [&](absl::string_view cluster, int cluster_columns) {
    width += cluster_columns;
    if (width > columns) return false;
    fits += cluster.size();
    if (width < columns) fits_less = fits;
    return true;
  });
  if (fits == text.size()) return std::string(text);
  return absl::StrCat(text.substr(0, fits_less), kEllipsis);
}

std::string PadText(absl::string_view text, int columns) {
  std::string padded = CutText(text, columns);
  const int missing = columns - TextWidth(padded);
  if (missing > 0) padded.append(static_cast<size_t>(missing), ' ');
  return padded;
}

}  // namespace docket::cli
