#ifndef DOCKET_SERVICES_LOG_CORE_IDS_H_
#define DOCKET_SERVICES_LOG_CORE_IDS_H_

#include <compare>
#include <cstdint>
#include <utility>

namespace docket::log {

// An event's number within its shard. 0: before the first.
struct Position {
  int64_t value = 0;
  friend auto operator<=>(const Position&, const Position&) = default;
};

// The store's key of a session within its shard: the position of the session's first event.
struct SessionPk {
  int64_t value = 0;
  friend auto operator<=>(const SessionPk&, const SessionPk&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const SessionPk& pk) {
    return H::combine(std::move(h), pk.value);
  }
};

// An event's number within its session. 0: before the first.
struct Seq {
  int64_t value = 0;
  friend auto operator<=>(const Seq&, const Seq&) = default;
};

// A shard's number.
struct ShardId {
  int32_t value = 0;
  friend auto operator<=>(const ShardId&, const ShardId&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const ShardId& id) {
    return H::combine(std::move(h), id.value);
  }
};

}  // namespace docket::log

#endif  // DOCKET_SERVICES_LOG_CORE_IDS_H_
