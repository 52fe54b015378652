#include "clients/harness/json_lines.h"

#include <cstddef>

#include "absl/strings/ascii.h"

namespace docket::harness {
namespace {

// Where the value that begins with a bracket at `begin` ends; npos if it does not, or is too deep.
size_t EndOfValue(absl::string_view text, size_t begin) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = begin; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        in_string = false;
      }
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kMaxJsonDepth) return absl::string_view::npos;
    } else if (c == '}' || c == ']') {
      if (--depth == 0) return i + 1;
    }
  }
  return absl::string_view::npos;
}

}  // namespace

nlohmann::json ParseJson(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  if (!text.empty() && (text[0] == '{' || text[0] == '[') && EndOfValue(text, 0) != text.size()) {
    return nlohmann::json(nlohmann::json::value_t::discarded);
  }
  return nlohmann::json::parse(text.begin(), text.end(), nullptr, false);
}

JsonObjects SplitObjects(absl::string_view line) {
  JsonObjects result;
  size_t at = 0;
  while (true) {
    while (at < line.size() && absl::ascii_isspace(static_cast<unsigned char>(line[at]))) ++at;
    if (at == line.size()) return result;
    const size_t end = line[at] == '{' ? EndOfValue(line, at) : absl::string_view::npos;
    if (end == absl::string_view::npos) {
      result.has_rest = true;
      return result;
    }
    result.objects.push_back(line.substr(at, end - at));
    at = end;
  }
}

}  // namespace docket::harness
