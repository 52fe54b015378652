#ifndef DOCKET_SERVICES_COMMON_LOG_H_
#define DOCKET_SERVICES_COMMON_LOG_H_

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace docket {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// Starts logging to standard error, one line a message: time, level, program, text. Without it, messages go out the
// same way under the name "docket". Call once, before other threads start.
void StartLogging(absl::string_view program, LogLevel least);

// Logs one line. Line breaks and control characters in `text` are escaped. Never give it a payload, a credential or a
// tenant's content. Thread-safe.
void Log(LogLevel level, absl::string_view text);

template <typename... Args>
void LogInfo(const Args&... args) {
  Log(LogLevel::kInfo, absl::StrCat(args...));
}
template <typename... Args>
void LogWarning(const Args&... args) {
  Log(LogLevel::kWarning, absl::StrCat(args...));
}
template <typename... Args>
void LogError(const Args&... args) {
  Log(LogLevel::kError, absl::StrCat(args...));
}

// Logs `what` and ends the process. For broken invariants of Docket's own, never for input, a peer or the database.
[[noreturn]] void Crash(absl::string_view what);

// Crashes unless `holds`.
inline void CrashUnless(bool holds, absl::string_view what) {
  if (!holds) Crash(what);
}

}  // namespace docket

#endif  // DOCKET_SERVICES_COMMON_LOG_H_
