#ifndef DOCKET_CLIENTS_HARNESS_JSON_LINES_H_
#define DOCKET_CLIENTS_HARNESS_JSON_LINES_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"

namespace docket::harness {

// Deeper values are not read: writing them again would need a stack of that depth.
inline constexpr int kMaxJsonDepth = 256;

// The value that `text` is, or a discarded one if it is none, holds invalid UTF-8 or is too deep.
nlohmann::json ParseJson(absl::string_view text);

// The texts of the objects that stand in `line` one after the other, and whether there is anything else.
struct JsonObjects {
  std::vector<absl::string_view> objects;
  bool has_rest = false;
};
JsonObjects SplitObjects(absl::string_view line);

}  // namespace docket::harness

#endif  // DOCKET_CLIENTS_HARNESS_JSON_LINES_H_
