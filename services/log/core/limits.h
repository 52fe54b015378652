#ifndef DOCKET_SERVICES_LOG_CORE_LIMITS_H_
#define DOCKET_SERVICES_LOG_CORE_LIMITS_H_

#include <cstddef>
#include <cstdint>

// The limits that the API promises.

namespace docket::log {

inline constexpr size_t kMaxEventBytes = 2 << 20;
inline constexpr int kMaxRequestEvents = 1000;
inline constexpr size_t kMaxRequestBytes = 4 << 20;
inline constexpr int kMaxPreconditions = 16;
inline constexpr int kMaxPreconditionTypes = 16;
inline constexpr int kMaxFilterTypes = 64;
inline constexpr int kMaxLatestEventTypes = 16;

inline constexpr int kDefaultPageSize = 50;
inline constexpr int kMaxPageSize = 1000;
inline constexpr int kMaxFilterLabels = 16;

inline constexpr int kMaxLabels = 64;
inline constexpr size_t kMaxLabelKeyBytes = 64;
inline constexpr size_t kMaxLabelValueBytes = 256;
inline constexpr size_t kMaxTitleBytes = 1 << 10;
inline constexpr int kMaxAttributes = 64;
inline constexpr size_t kMaxAttributeKeyBytes = 64;
inline constexpr size_t kMaxAttributeValueBytes = 4 << 10;
inline constexpr size_t kMaxContentDigestBytes = 64;
inline constexpr int kMaxAgents = 1000;

// Events that one message of a stream carries, in bytes; a larger event is a message of its own.
inline constexpr size_t kMaxMessageBytes = 1 << 20;

// Requests of one AppendStream that are worked on at a time.
inline constexpr int kAppendStreamWindow = 256;

// Field numbers of SessionEvent that belong to the event map.
inline constexpr int32_t kFirstEventType = 10;
inline constexpr int32_t kLastEventType = 999;

}  // namespace docket::log

#endif  // DOCKET_SERVICES_LOG_CORE_LIMITS_H_
