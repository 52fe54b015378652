#include "clients/cli/command.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "clients/cli/terminal_text.h"
#include "google/protobuf/util/json_util.h"
#include "services/common/errors.h"
#include "services/common/proto_time.h"
#include "services/edge/channel.h"
#include "services/edge/grpc_status.h"

namespace docket::cli {
namespace {

absl::string_view ColorOf(Style style) {
  switch (style) {
    case Style::kPlain:
    case Style::kPending:
      return "";
    case Style::kBold:
      return "\x1b[1m";
    case Style::kDim:
    case Style::kCancelled:
      return "\x1b[2m";
    case Style::kInProgress:
      return "\x1b[33m";
    case Style::kCompleted:
      return "\x1b[32m";
    case Style::kWarning:
      return "\x1b[31m";
  }
  return "";
}

}  // namespace

client::CallOptions Globals::CallOptions() const {
  return {.patience = absl::Seconds(patience_seconds)};
}

std::unique_ptr<log::v1::LogService::Stub> Globals::Log() const {
  return log::v1::LogService::NewStub(MakeChannel(log_address));
}

std::unique_ptr<todo::v1::TodoService::Stub> Globals::Todo() const {
  return todo::v1::TodoService::NewStub(MakeChannel(todo_address));
}

int ExitCodeOf(const absl::Status& status) {
  if (status.ok()) return kExitOk;
  return status.code() == absl::StatusCode::kUnavailable || status.code() == absl::StatusCode::kDeadlineExceeded
             ? kExitUnavailable
             : kExitRefused;
}

int Fail(const Globals& globals, const absl::Status& status, Server asked) {
  std::fflush(stdout);
  if (globals.json) {
    std::fprintf(stderr, "%s\n", ToJson(ToRpcStatus(status)).c_str());
  } else {
    const auto reason = ReasonOf(status);
    std::fprintf(stderr, "docket: %s%s\n", SafeText(status.message()).c_str(),
                 reason.has_value() ? absl::StrCat(" (", ReasonName(*reason), ")").c_str() : "");
    if (ExitCodeOf(status) == kExitUnavailable && asked != Server::kNone) {
      const bool log = asked == Server::kLog;
      std::fprintf(stderr, "docket: asked %s at %s\n", log ? "docket-log" : "docket-todo",
                   (log ? globals.log_address : globals.todo_address).c_str());
    }
  }
  return ExitCodeOf(status);
}

std::string ToJson(const google::protobuf::Message& message) {
  std::string json;
  const auto status = google::protobuf::util::MessageToJsonString(message, &json);
  // Only an Any of a type that this program does not know cannot be said in JSON.
  if (!status.ok()) return absl::StrCat("{\"error\":\"a message holds a type that is not known here\"}");
  return json;
}

void PrintJson(const google::protobuf::Message& message) {
  std::printf("%s\n", ToJson(message).c_str());
}

void PrintTable(std::vector<std::vector<std::string>> rows) {
  std::vector<int> widths;
  for (std::vector<std::string>& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) {
      row[i] = SafeText(row[i]);
      widths[i] = std::max(widths[i], TextWidth(row[i]));
    }
  }
  for (const std::vector<std::string>& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i)
      absl::StrAppend(&line, i + 1 == row.size() ? row[i] : PadText(row[i], widths[i] + 2));
    std::printf("%s\n", line.c_str());
  }
}

void PrintLines(const std::vector<Line>& lines) {
  const bool color = isatty(STDOUT_FILENO) != 0;
  for (const Line& line : lines) {
    std::string text;
    for (const Span& span : line) {
      const absl::string_view begin = color ? ColorOf(span.style) : "";
      absl::StrAppend(&text, begin, span.text, begin.empty() ? "" : "\x1b[0m");
    }
    std::printf("%s\n", text.c_str());
  }
}

absl::Status ParseLabels(const std::vector<std::string>& texts,
                         google::protobuf::Map<std::string, std::string>& labels) {
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      return FieldError(docket::v1::ERROR_REASON_INVALID_REQUEST, "label",
                        absl::StrCat("\"", text, "\" is not of the form KEY=VALUE"));
    }
    labels[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return absl::OkStatus();
}

std::string TimeText(const google::protobuf::Timestamp& time) {
  if (time.seconds() == 0 && time.nanos() == 0) return "-";
  return absl::FormatTime("%Y-%m-%d %H:%M:%S", FromProto(time), absl::LocalTimeZone());
}

absl::StatusOr<google::protobuf::Timestamp> ParseSince(absl::string_view ago) {
  absl::Duration duration;
  if (!absl::ParseDuration(ago, &duration) || duration < absl::ZeroDuration() || duration > absl::Hours(876000)) {
    return FieldError(docket::v1::ERROR_REASON_INVALID_REQUEST, "since",
                      absl::StrCat("\"", ago, "\" is no duration; 90s, 15m or 24h are"));
  }
  return ToProto(absl::Now() - duration);
}

int32_t PageSize(int64_t limit, int64_t left) {
  constexpr int64_t kLargestPage = 1000;
  return static_cast<int32_t>(limit == 0 ? kLargestPage : std::clamp<int64_t>(left, 1, kLargestPage));
}

void PrintMore(const Globals& globals) {
  std::fflush(stdout);
  if (!globals.json) std::fprintf(stderr, "docket: there are more; --limit 0 shows all\n");
}

}  // namespace docket::cli
