#include "services/common/log.h"

#include <cstdlib>
#include <memory>
#include <string>

#include "absl/strings/escaping.h"
#include "spdlog/sinks/stdout_sinks.h"
#include "spdlog/spdlog.h"

namespace docket {
namespace {

// What the messages go to; made at first use and never destroyed, so that threads that outlive main can still log.
std::shared_ptr<spdlog::logger>& Logger() {
  static auto& logger = *new std::shared_ptr<spdlog::logger>(
      std::make_shared<spdlog::logger>("docket", std::make_shared<spdlog::sinks::stderr_sink_mt>()));
  return logger;
}

spdlog::level::level_enum LevelOf(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

}  // namespace

void StartLogging(absl::string_view program, LogLevel least) {
  Logger() = std::make_shared<spdlog::logger>(std::string(program), std::make_shared<spdlog::sinks::stderr_sink_mt>());
  Logger()->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %L %n: %v", spdlog::pattern_time_type::utc);
  Logger()->set_level(LevelOf(least));
}

void Log(LogLevel level, absl::string_view text) {
  Logger()->log(LevelOf(level), "{}", absl::Utf8SafeCEscape(text));
}

void Crash(absl::string_view what) {
  LogError("invariant broken: ", what);
  std::abort();
}

}  // namespace docket
