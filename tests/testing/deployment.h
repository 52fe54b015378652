#ifndef DOCKET_TESTS_TESTING_DEPLOYMENT_H_
#define DOCKET_TESTS_TESTING_DEPLOYMENT_H_

#include <grpcpp/channel.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "docket/log/v1/log_service.grpc.pb.h"
#include "docket/todo/v1/todo_service.grpc.pb.h"
#include "tests/testing/process.h"
#include "tests/testing/temp_postgres.h"

namespace docket::testing {

// A started server. It can be killed and started again on the same port. Not thread-safe, but for address() and
// channel().
class ServerUnderTest {
 public:
  // `command` without --listen and --insecure-loopback.
  ServerUnderTest(std::vector<std::string> command, std::map<std::string, std::string> env, std::string output_path);

  void Start();
  void Kill();
  // SIGTERM, and waits; the exit code, -1 if it does not end within a minute.
  int Terminate();

  std::string address() const { return port_.address(); }
  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }
  std::string output() const { return ReadFile(output_path_); }

 private:
  const std::vector<std::string> command_;
  const std::map<std::string, std::string> env_;
  const std::string output_path_;
  ReservedPort port_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<Process> process_;
};

// Docket as a whole: a Postgres of its own, docket-logs and docket-todos over it.
class Deployment {
 public:
  struct Options {
    int logs = 1;
    // Each asks all docket-logs.
    int todos = 1;
    int shards = 4;
    // A TodoPolicyFile.
    std::string policy = "default_policy { parallel_in_progress: PARALLEL_IN_PROGRESS_ALLOW implicit_turns: true }";
    std::vector<std::string> log_flags;
    std::vector<std::string> todo_flags;
  };

  // Ends the test if it cannot be started.
  explicit Deployment(Options options);

  TempPostgres& postgres() { return *postgres_; }
  ServerUnderTest& log_server(int i = 0) { return *logs_[static_cast<size_t>(i)]; }
  ServerUnderTest& todo_server(int i = 0) { return *todos_[static_cast<size_t>(i)]; }
  log::v1::LogService::Stub& log(int i = 0) { return *log_stubs_[static_cast<size_t>(i)]; }
  todo::v1::TodoService::Stub& todo(int i = 0) { return *todo_stubs_[static_cast<size_t>(i)]; }
  const TempFolder& folder() const { return folder_; }
  // The file that docket-todo reads its policy from.
  std::string policy_path() const { return folder_.File("policy.textproto"); }

  // The environment that `docket` needs to find it.
  std::map<std::string, std::string> Env() const;
  // Runs `docket`.
  RunResult Docket(const std::vector<std::string>& arguments, const std::string& input = "");

 private:
  TempFolder folder_;
  std::unique_ptr<TempPostgres> postgres_;
  std::vector<std::unique_ptr<ServerUnderTest>> logs_;
  std::vector<std::unique_ptr<ServerUnderTest>> todos_;
  std::vector<std::unique_ptr<log::v1::LogService::Stub>> log_stubs_;
  std::vector<std::unique_ptr<todo::v1::TodoService::Stub>> todo_stubs_;
};

// The path of a built program.
std::string ProgramPath(const std::string& name);

}  // namespace docket::testing

#endif  // DOCKET_TESTS_TESTING_DEPLOYMENT_H_
