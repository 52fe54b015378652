#ifndef DOCKET_TESTS_TESTING_PROCESS_H_
#define DOCKET_TESTS_TESTING_PROCESS_H_

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace docket::testing {

// A program that a test started. It dies with the test. Its output goes to a file. Not thread-safe.
class Process {
 public:
  struct Options {
    std::vector<std::string> command;        // the program's path and its arguments
    std::map<std::string, std::string> env;  // added to the test's own
    std::string output_path;                 // standard output and error; appended to
    std::string stdin_path = "/dev/null";
  };

  static absl::StatusOr<Process> Start(const Options& options);

  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  ~Process();  // kills it if it runs

  pid_t pid() const { return pid_; }
  bool running();
  void Signal(int signal);
  // kill -9, and waits until it is gone.
  void Kill();
  // Waits for the end; the exit code, or 128 + the signal that ended it. DEADLINE_EXCEEDED: it still runs.
  absl::StatusOr<int> Wait(absl::Duration timeout);

 private:
  explicit Process(pid_t pid) : pid_(pid) {}

  pid_t pid_ = -1;
  std::optional<int> exit_code_;
};

// Whether a process, of this program or not, has ended, reaped or not.
bool HasEnded(pid_t pid);

// Runs a program to its end. DEADLINE_EXCEEDED after `timeout`, after which it is gone.
struct RunResult {
  int exit_code = 0;
  std::string output;
};
absl::StatusOr<RunResult> RunProgram(const Process::Options& options, absl::Duration timeout);

// A loopback TCP port that no other program is given while this lives, so that a server can be killed and started again
// on it. Servers that set SO_REUSEADDR (gRPC does) can listen on it.
class ReservedPort {
 public:
  ReservedPort();
  ~ReservedPort();
  ReservedPort(const ReservedPort&) = delete;
  ReservedPort& operator=(const ReservedPort&) = delete;

  int port() const { return port_; }
  std::string address() const;

 private:
  int fd_ = -1;
  int port_ = 0;
};

// A folder for a test's files, removed in the end unless the test failed.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string File(absl::string_view name) const;

 private:
  std::string path_;
};

std::string ReadFile(const std::string& path);
void WriteFile(const std::string& path, absl::string_view text);

}  // namespace docket::testing

#endif  // DOCKET_TESTS_TESTING_PROCESS_H_
