#ifndef DOCKET_CLIENTS_CLI_COMMAND_H_
#define DOCKET_CLIENTS_CLI_COMMAND_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "clients/cli/plan_lines.h"
#include "clients/cpp/call.h"
#include "docket/log/v1/log_service.grpc.pb.h"
#include "docket/todo/v1/todo_service.grpc.pb.h"
#include "google/protobuf/message.h"
#include "grpcpp/channel.h"

// What all commands share: the global options, calls, output and exit codes.

namespace docket::cli {

inline constexpr int kExitOk = 0;
inline constexpr int kExitRefused = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitUnavailable = 3;

// The options that every command has.
struct Globals {
  std::string tenant;
  std::string log_address;
  std::string todo_address;
  bool json = false;
  // Seconds to try again while a server is away.
  double patience_seconds = 5;

  client::CallOptions CallOptions() const;
  std::unique_ptr<log::v1::LogService::Stub> Log() const;
  std::unique_ptr<todo::v1::TodoService::Stub> Todo() const;
};

// The exit code that tells of `status`.
int ExitCodeOf(const absl::Status& status);

// Whom a command asked.
enum class Server { kNone, kLog, kTodo };

// Reports an error on standard error: as a sentence or, with JSON output, as a google.rpc.Status. `asked` is who did
// not answer, if that is what is wrong. Returns the exit code.
int Fail(const Globals& globals, const absl::Status& status, Server asked = Server::kNone);

// Prints one message as canonical protobuf JSON on a line of its own.
void PrintJson(const google::protobuf::Message& message);
std::string ToJson(const google::protobuf::Message& message);

// Prints rows, of which the last column may be of any width, with the others aligned. Makes texts safe.
void PrintTable(std::vector<std::vector<std::string>> rows);

// Prints lines, in color on a terminal.
void PrintLines(const std::vector<Line>& lines);

// A map of `key=value` options. INVALID_ARGUMENT: one is not of that form.
absl::Status ParseLabels(const std::vector<std::string>& texts,
                         google::protobuf::Map<std::string, std::string>& labels);

// The local time, to the second; "-" for none.
std::string TimeText(const google::protobuf::Timestamp& time);

// "2h" ago. INVALID_ARGUMENT: that is no duration.
absl::StatusOr<google::protobuf::Timestamp> ParseSince(absl::string_view ago);

// The size of the next page, when `left` of `limit` are still wanted; limit 0: all.
int32_t PageSize(int64_t limit, int64_t left);
// Says that there is more than `--limit` let through.
void PrintMore(const Globals& globals);

}  // namespace docket::cli

#endif  // DOCKET_CLIENTS_CLI_COMMAND_H_
