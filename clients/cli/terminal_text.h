#ifndef DOCKET_CLIENTS_CLI_TERMINAL_TEXT_H_
#define DOCKET_CLIENTS_CLI_TERMINAL_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"

// Text from elsewhere, made fit for a terminal. Pure.

namespace docket::cli {

// `text` on one line, harmless: control characters (escape sequences among them), line and paragraph separators and
// what changes the direction of text become spaces or U+FFFD, as do bytes that are not UTF-8. Idempotent.
std::string SafeText(absl::string_view text);

// How many columns safe text takes: 2 for wide characters and emoji, 0 for combining ones, whole grapheme clusters
// counted once.
int TextWidth(absl::string_view text);

// Safe text cut to at most `columns`, between two grapheme clusters, with "…" at its end if something is missing.
std::string CutText(absl::string_view text, int columns);

// CutText(), filled up with spaces to exactly `columns`.
std::string PadText(absl::string_view text, int columns);

}  // namespace docket::cli

#endif  // DOCKET_CLIENTS_CLI_TERMINAL_TEXT_H_
