#ifndef DOCKET_CLIENTS_HARNESS_TRANSCRIPT_PARSER_H_
#define DOCKET_CLIENTS_HARNESS_TRANSCRIPT_PARSER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "docket/log/v1/event.pb.h"

// From the recordings of harnesses to events of sessions.

namespace docket::harness {

inline constexpr size_t kMaxReportedNotes = 100;
inline constexpr size_t kMaxLineBytes = 64 << 20;

// One event, ready to be appended to its session.
struct ParsedEvent {
  std::string session_id;
  log::v1::SessionEvent event;
  // When it happened; the last time known where its entry has none.
  absl::Time at;
};

// Something that was not taken as it came, and where.
struct ImportNote {
  int64_t line = 0;
  std::string text;
};

// What became of a recording.
struct ImportReport {
  int64_t lines = 0;
  int64_t events = 0;
  int64_t writes = 0;
  int64_t rejected = 0;
  int64_t repaired_count = 0;
  int64_t skipped_count = 0;
  // The first kMaxReportedNotes of each.
  std::vector<ImportNote> repaired;
  std::vector<ImportNote> skipped;
};

// Reads one recording, a line at a time, and hands its events to a sink.
//
// Promises: total (a line that cannot be read costs that line and is reported with its number); deterministic (the same
// lines give the same events with the same ids, and more lines at the end add events at the end, unless a call that had
// no result then turns out to be refused); what it emits keeps the durable invariants of the log. Memory: what is held
// back is bounded; beside it, some hundred bytes a line and a call. Not thread-safe; the sink is called within Feed()
// and Finish().
class TranscriptParser {
 public:
  virtual ~TranscriptParser() = default;

  // One line without its line end. Not after Finish().
  virtual void Feed(absl::string_view line) = 0;
  // The recording ends here: calls without a result count as accepted. Open turns stay open.
  virtual void Finish() = 0;
  virtual const ImportReport& report() const = 0;
};

// A format that can be read.
struct FormatInfo {
  std::string name;
  std::string summary;
  // What recordings of this format do not tell.
  std::string cannot_say;
};

struct ParserOptions {
  // Where the recording came from, for people: the label `source`. Optional.
  std::string source_name;
  // The session of entries that name none. Empty: such entries are skipped.
  std::string session_id;
};

const std::vector<FormatInfo>& Formats();

// A parser for `format`. Null if Formats() has no such name.
std::unique_ptr<TranscriptParser> NewParser(absl::string_view format, ParserOptions options,
                                            std::function<void(ParsedEvent)> sink);

}  // namespace docket::harness

#endif  // DOCKET_CLIENTS_HARNESS_TRANSCRIPT_PARSER_H_
