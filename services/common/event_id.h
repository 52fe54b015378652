#ifndef DOCKET_SERVICES_COMMON_EVENT_ID_H_
#define DOCKET_SERVICES_COMMON_EVENT_ID_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace docket {

// A UUID (RFC 9562): the id of an event. A value; ordered and hashable by its bytes.
struct EventId {
  std::array<uint8_t, 16> bytes = {};

  // 36 lower-case characters with dashes.
  std::string ToString() const;
  // The opposite of ToString(); nothing for any other text.
  static std::optional<EventId> Parse(absl::string_view text);
  // A random one (version 4).
  static EventId Random();
  // A version 8 one that is made of a time in milliseconds and the first bytes of a SHA-256: the same inputs give the
  // same id, and ids of later times sort later.
  static EventId FromTimeAndHash(absl::Time at, absl::string_view sha256);
  // A version 8 one that is made of a SHA-256 alone.
  static EventId FromHash(absl::string_view sha256);

  friend bool operator==(const EventId& a, const EventId& b) { return a.bytes == b.bytes; }
  friend bool operator!=(const EventId& a, const EventId& b) { return a.bytes != b.bytes; }
  friend bool operator<(const EventId& a, const EventId& b) { return a.bytes < b.bytes; }
  template <typename H>
  friend H AbslHashValue(H h, const EventId& id) {
    return H::combine(std::move(h), id.bytes);
  }
};

}  // namespace docket

#endif  // DOCKET_SERVICES_COMMON_EVENT_ID_H_
