#include "services/common/event_id.h"

#include <algorithm>

#include "absl/random/random.h"
#include "services/common/log.h"

namespace docket {
namespace {

constexpr char kHex[] = "0123456789abcdef";

bool IsDash(size_t i) {
  return i == 8 || i == 13 || i == 18 || i == 23;
}

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

// Sets the version and the variant that RFC 9562 asks for.
void Mark(EventId& id, int version) {
  id.bytes[6] = static_cast<uint8_t>((id.bytes[6] & 0x0f) | (version << 4));
  id.bytes[8] = static_cast<uint8_t>((id.bytes[8] & 0x3f) | 0x80);
}

}  // namespace

std::string EventId::ToString() const {
  std::string text;
  text.reserve(36);
  for (uint8_t byte : bytes) {
    if (IsDash(text.size())) text.push_back('-');
    text.push_back(kHex[byte >> 4]);
    text.push_back(kHex[byte & 15]);
  }
  return text;
}

std::optional<EventId> EventId::Parse(absl::string_view text) {
  if (text.size() != 36) return std::nullopt;
  EventId id;
  size_t nibble = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (IsDash(i)) {
      if (text[i] != '-') return std::nullopt;
      continue;
    }
    const int value = HexValue(text[i]);
    if (value < 0) return std::nullopt;
    id.bytes[nibble / 2] = static_cast<uint8_t>(id.bytes[nibble / 2] << 4 | value);
    ++nibble;
  }
  return id;
}

EventId EventId::Random() {
  thread_local absl::BitGen random;
  EventId id;
  for (uint8_t& byte : id.bytes) byte = absl::Uniform<uint8_t>(random);
  Mark(id, 4);
  return id;
}

EventId EventId::FromTimeAndHash(absl::Time at, absl::string_view sha256) {
  CrashUnless(sha256.size() == 32, "an event id is made of a whole SHA-256");
  EventId id;
  const int64_t millis = std::max<int64_t>(0, absl::ToUnixMillis(at));
  for (size_t i = 0; i < 6; ++i) id.bytes[i] = static_cast<uint8_t>(millis >> (40 - 8 * i));
  std::copy_n(sha256.begin(), 10, id.bytes.begin() + 6);
  Mark(id, 8);
  return id;
}

EventId EventId::FromHash(absl::string_view sha256) {
  CrashUnless(sha256.size() == 32, "an event id is made of a whole SHA-256");
  EventId id;
  std::copy_n(sha256.begin(), 16, id.bytes.begin());
  Mark(id, 8);
  return id;
}

}  // namespace docket
