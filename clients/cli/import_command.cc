#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "clients/cli/commands.h"
#include "clients/cli/event_batcher.h"
#include "clients/cli/line_reader.h"
#include "clients/cli/terminal_text.h"
#include "clients/cpp/append_stream_writer.h"
#include "clients/harness/transcript_parser.h"
#include "services/edge/channel.h"

namespace docket::cli {
namespace {

// A recording that pauses longer is replayed as if it paused so long, after the pace was applied.
constexpr absl::Duration kLongestPause = absl::Seconds(3);
constexpr int64_t kLongFileBytes = 1 << 20;

struct ImportOptions {
  std::string format;
  std::vector<std::string> files;
  std::string session;
  std::string pace;
  bool dry_run = false;
};

// How many times faster than it was recorded; 0: at once.
absl::StatusOr<double> ParsePace(absl::string_view text) {
  if (text.empty()) return 0;
  double pace = 0;
  if (!absl::SimpleAtod(absl::StripSuffix(text, "x"), &pace) || !(pace >= 0.01 && pace <= 1e6)) {
    return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" is no pace; 0.01x to 1000000x are"));
  }
  return pace;
}

// How far a long file is, on standard error, if that is a terminal.
class ProgressBar {
 public:
  ProgressBar(std::string name, int64_t bytes)
      : name_(std::move(name)), bytes_(bytes), shown_(bytes >= kLongFileBytes && isatty(STDERR_FILENO) != 0) {}
  ~ProgressBar() {
    if (shown_) std::fprintf(stderr, "\r\x1b[K");
  }

  void Set(int64_t bytes) {
    constexpr int kColumns = 30;
    const int percent = static_cast<int>(std::min<int64_t>(bytes * 100 / std::max<int64_t>(bytes_, 1), 100));
    if (!shown_ || percent == percent_) return;
    percent_ = percent;
    std::string bar;
    for (int i = 0; i < kColumns; ++i) absl::StrAppend(&bar, i < kColumns * percent / 100 ? "━" : "─");
    std::fprintf(stderr, "\r%s %s %d%%", CutText(SafeText(name_), 40).c_str(), bar.c_str(), percent);
  }

 private:
  const std::string name_;
  const int64_t bytes_;
  const bool shown_;
  int percent_ = -1;
};

void PrintNotes(const char* what, int64_t count, const std::vector<harness::ImportNote>& notes) {
  for (const harness::ImportNote& note : notes) {
    std::fprintf(stderr, "  %s: line %lld: %s\n", what, static_cast<long long>(note.line),
                 CutText(SafeText(note.text), 200).c_str());
  }
  if (count > static_cast<int64_t>(notes.size())) {
    std::fprintf(stderr, "  %s: %lld more\n", what, static_cast<long long>(count - static_cast<int64_t>(notes.size())));
  }
}

// Imports one recording.
class FileImport {
 public:
  FileImport(const Globals& globals, const ImportOptions& options, double pace, std::string path)
      : globals_(globals), options_(options), pace_(pace), path_(std::move(path)) {}

  int Run() {
    std::ifstream file;
    int64_t size = 0;
    if (path_ != "-") {
      file.open(path_, std::ios::binary);
      std::error_code error;
      if (file && !std::filesystem::is_directory(path_, error)) {
        const auto bytes = std::filesystem::file_size(path_, error);
        size = error ? 0 : static_cast<int64_t>(bytes);
      } else {
        return Fail(globals_, absl::NotFoundError(absl::StrCat("cannot read ", path_)));
      }
    }
    const std::string name = path_ == "-" ? "" : std::filesystem::path(path_).filename().string();
    const auto parser = harness::NewParser(options_.format, {.source_name = name, .session_id = options_.session},
                                           [this](harness::ParsedEvent event) { Take(std::move(event)); });
    if (!options_.dry_run) {
      writer_ = std::make_unique<client::AppendStreamWriter>(
          MakeChannel(globals_.log_address),
          [this](const log::v1::AppendRequest& request, const absl::Status& status) { Refused(request, status); },
          client::AppendStreamWriter::Options{.patience = globals_.CallOptions().patience});
    }
    {
      LineReader reader(path_ == "-" ? std::cin : file, harness::kMaxLineBytes);
      ProgressBar bar(name, size);
      for (std::string line; status_.ok() && reader.Next(line);) {
        parser->Feed(line);
        bar.Set(reader.bytes());
      }
      if (status_.ok()) parser->Finish();
      batcher_.Flush();
      if (writer_ != nullptr) status_.Update(writer_->Finish());
    }
    Report(parser->report());
    if (!status_.ok()) return Fail(globals_, status_, Server::kLog);
    return refused_events_ > 0 ? kExitRefused : kExitOk;
  }

 private:
  void Take(harness::ParsedEvent parsed) {
    if (options_.dry_run) {
      log::v1::RecordedEvent shown;
      shown.set_session_id(std::move(parsed.session_id));
      *shown.mutable_event() = std::move(parsed.event);
      PrintJson(shown);
      return;
    }
    const absl::Time at = parsed.at;
    if (pace_ > 0) {
      if (last_at_ > absl::InfinitePast()) absl::SleepFor(std::min((at - last_at_) / pace_, kLongestPause));
      last_at_ = std::max(last_at_, at);
    }
    batcher_.Add(std::move(parsed));
    if (pace_ > 0) batcher_.Flush();
  }

  void Send(log::v1::AppendRequest request) {
    if (status_.ok()) status_ = writer_->Write(std::move(request));
  }

  void Refused(const log::v1::AppendRequest& request, const absl::Status& status) {
    refused_events_ += request.events_size();
    if (++refused_requests_ > static_cast<int64_t>(harness::kMaxReportedNotes)) return;
    std::fprintf(stderr, "docket: session %s: %d events refused, from %s on\n", SafeText(request.session_id()).c_str(),
                 request.events_size(), SafeText(request.events().empty() ? "" : request.events(0).event_id()).c_str());
    Fail(globals_, status);
  }

  void Report(const harness::ImportReport& report) {
    std::string stored;
    if (writer_ != nullptr) {
      const auto totals = writer_->totals();
      stored = absl::StrCat(" (", totals.appended_events, " new, ", totals.known_events, " known");
      absl::StrAppend(&stored, refused_events_ > 0 ? absl::StrCat(", ", refused_events_, " refused)") : ")");
      if (globals_.json) {
        log::v1::AppendStreamResponse answer;
        answer.mutable_acknowledged()->set_through(totals.requests);
        answer.mutable_acknowledged()->set_appended_events(totals.appended_events);
        answer.mutable_acknowledged()->set_known_events(totals.known_events);
        PrintJson(answer);
      }
    }
    std::fflush(stdout);
    std::fprintf(stderr, "%s: %lld lines, %lld events%s, %lld list writes, %lld refused calls\n",
                 SafeText(path_).c_str(), static_cast<long long>(report.lines), static_cast<long long>(report.events),
                 stored.c_str(), static_cast<long long>(report.writes), static_cast<long long>(report.rejected));
    PrintNotes("repaired", report.repaired_count, report.repaired);
    PrintNotes("skipped", report.skipped_count, report.skipped);
  }

  const Globals& globals_;
  const ImportOptions& options_;
  const double pace_;
  const std::string path_;
  EventBatcher batcher_{globals_.tenant, [this](log::v1::AppendRequest request) { Send(std::move(request)); }};
  absl::Status status_;
  absl::Time last_at_ = absl::InfinitePast();
  // Written by the writer's thread; read once the writer is finished.
  int64_t refused_events_ = 0;
  int64_t refused_requests_ = 0;
  std::unique_ptr<client::AppendStreamWriter> writer_;
};

int RunImport(const Globals& globals, const ImportOptions& options) {
  const absl::StatusOr<double> pace = ParsePace(options.pace);
  if (!pace.ok()) {
    Fail(globals, pace.status());
    return kExitUsage;
  }
  int exit_code = kExitOk;
  for (const std::string& path : options.files) {
    const int code = FileImport(globals, options, *pace, path).Run();
    exit_code = std::max(exit_code, code);
    // The next file would wait for the same server.
    if (code == kExitUnavailable) break;
  }
  return exit_code;
}

}  // namespace

void AddImportCommand(CLI::App& app, const Globals& globals, int& exit_code) {
  auto options = std::make_shared<ImportOptions>();
  std::vector<std::string> names;
  std::string help = "Formats:\n";
  for (const harness::FormatInfo& format : harness::Formats()) {
    names.push_back(format.name);
    absl::StrAppend(&help, "  ", format.name, ": ", format.summary, "\n    does not say: ", format.cannot_say, "\n");
  }
  absl::StrAppend(&help, "\nWhat was repaired or skipped is reported on standard error, with the line's number.");
  CLI::App* command =
      app.add_subcommand("import", "Import recordings of agents; importing one again adds only what is new");
  command->footer(help);
  command->add_option("FORMAT", options->format, "The format")->required()->check(CLI::IsMember(names));
  command->add_option("FILE", options->files, "The recordings; - for standard input")->required();
  command->add_option("--session", options->session, "The session of entries that name none");
  command->add_flag("--dry-run", options->dry_run, "Print the events, one JSON object a line; needs no server");
  command->add_option("--pace", options->pace,
                      "Replay by the recorded times, so many times faster (10x); a pause lasts 3 s at most");
  command->callback([&globals, &exit_code, options] { exit_code = RunImport(globals, *options); });
}

}  // namespace docket::cli
