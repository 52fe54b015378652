#ifndef DOCKET_CLIENTS_HARNESS_DSH_PARSER_H_
#define DOCKET_CLIENTS_HARNESS_DSH_PARSER_H_

#include <functional>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "clients/harness/session_recorder.h"
#include "clients/harness/transcript_parser.h"

namespace docket::harness {

// Event logs of the DeepSeek harness: one session, with marks where turns begin and end. Not thread-safe.
class DshParser : public TranscriptParser {
 public:
  DshParser(ParserOptions options, std::function<void(ParsedEvent)> sink);

  void Feed(absl::string_view line) override;
  void Finish() override { recorder_.Finish(); }
  const ImportReport& report() const override { return recorder_.report(); }

 private:
  void Entry(const Json& entry, absl::string_view text);

  SessionRecorder recorder_;
  std::string session_;
  std::optional<absl::Time> now_;
};

}  // namespace docket::harness

#endif  // DOCKET_CLIENTS_HARNESS_DSH_PARSER_H_
