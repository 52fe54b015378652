#include "clients/harness/transcript_parser.h"

#include <utility>

#include "clients/harness/claude_code_parser.h"
#include "clients/harness/dsh_parser.h"

namespace docket::harness {

const std::vector<FormatInfo>& Formats() {
  static const auto* const formats = new std::vector<FormatInfo>{
      {"claude-code", "session files of Claude Code (JSON lines)",
       "when the last turn ended; who changed a task outside the session"},
      {"dsh", "event logs of the DeepSeek harness (JSON lines)", "the exact time of an event; what sub-agents wrote"},
  };
  return *formats;
}

std::unique_ptr<TranscriptParser> NewParser(absl::string_view format, ParserOptions options,
                                            std::function<void(ParsedEvent)> sink) {
  if (format == "claude-code") return std::make_unique<ClaudeCodeParser>(std::move(options), std::move(sink));
  if (format == "dsh") return std::make_unique<DshParser>(std::move(options), std::move(sink));
  return nullptr;
}

}  // namespace docket::harness
