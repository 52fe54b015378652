#include "tests/testing/deployment.h"

#include <signal.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "services/common/log.h"
#include "services/edge/channel.h"

namespace docket::testing {

std::string ProgramPath(const std::string& name) {
  return absl::StrCat(DOCKET_BIN_DIR, "/", name);
}

ServerUnderTest::ServerUnderTest(std::vector<std::string> command, std::map<std::string, std::string> env,
                                 std::string output_path)
    : command_(std::move(command)),
      env_(std::move(env)),
      output_path_(std::move(output_path)),
      channel_(MakeChannel(port_.address())) {}

void ServerUnderTest::Start() {
  Process::Options options{.command = command_, .env = env_, .output_path = output_path_};
  options.command.push_back("--insecure-loopback");
  options.command.push_back(absl::StrCat("--listen=", address()));
  auto process = Process::Start(options);
  CrashUnless(process.ok(), "a server under test cannot be started");
  process_ = std::make_unique<Process>(*std::move(process));
}

void ServerUnderTest::Kill() {
  process_->Kill();
}

int ServerUnderTest::Terminate() {
  process_->Signal(SIGTERM);
  return process_->Wait(absl::Minutes(1)).value_or(-1);
}

Deployment::Deployment(Options options) {
  auto postgres = TempPostgres::Create();
  CrashUnless(postgres.ok(), absl::StrCat("no Postgres: ", postgres.status().message()));
  postgres_ = *std::move(postgres);
  const std::map<std::string, std::string> database = {{"DOCKET_DATABASE_URL", postgres_->connection_string()}};
  auto migrated = RunProgram(
      {.command = {ProgramPath("docket-log"), "migrate", absl::StrCat("--shards=", options.shards)}, .env = database},
      absl::Minutes(1));
  CrashUnless(migrated.ok() && migrated->exit_code == 0, "docket-log migrate failed");
  WriteFile(policy_path(), options.policy);
  std::vector<std::string> log_addresses;
  for (int i = 0; i < options.logs; ++i) {
    std::vector<std::string> command = {ProgramPath("docket-log"), "serve"};
    command.insert(command.end(), options.log_flags.begin(), options.log_flags.end());
    logs_.push_back(
        std::make_unique<ServerUnderTest>(command, database, folder_.File(absl::StrCat("docket-log-", i, ".log"))));
    logs_.back()->Start();
    log_addresses.push_back(logs_.back()->address());
    log_stubs_.push_back(log::v1::LogService::NewStub(logs_.back()->channel()));
  }
  for (int i = 0; i < options.todos; ++i) {
    std::vector<std::string> command = {ProgramPath("docket-todo"),
                                        absl::StrCat("--log-address=ipv4:", absl::StrJoin(log_addresses, ",")),
                                        absl::StrCat("--policy-file=", policy_path())};
    command.insert(command.end(), options.todo_flags.begin(), options.todo_flags.end());
    todos_.push_back(std::make_unique<ServerUnderTest>(command, std::map<std::string, std::string>{},
                                                       folder_.File(absl::StrCat("docket-todo-", i, ".log"))));
    todos_.back()->Start();
    todo_stubs_.push_back(todo::v1::TodoService::NewStub(todos_.back()->channel()));
  }
}

std::map<std::string, std::string> Deployment::Env() const {
  std::map<std::string, std::string> env = {{"DOCKET_TENANT", "t"}};
  if (!logs_.empty()) env["DOCKET_LOG_ADDRESS"] = logs_.front()->address();
  if (!todos_.empty()) env["DOCKET_TODO_ADDRESS"] = todos_.front()->address();
  return env;
}

RunResult Deployment::Docket(const std::vector<std::string>& arguments, const std::string& input) {
  Process::Options options{.command = {ProgramPath("docket")}, .env = Env()};
  options.command.insert(options.command.end(), arguments.begin(), arguments.end());
  if (!input.empty()) {
    options.stdin_path = folder_.File("stdin");
    WriteFile(options.stdin_path, input);
  }
  auto result = RunProgram(options, absl::Minutes(1));
  if (!result.ok()) return {.exit_code = -1, .output = std::string(result.status().message())};
  return *std::move(result);
}

}  // namespace docket::testing
