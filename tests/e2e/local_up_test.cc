// deploy/local/up and down: Docket on one machine.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/testing/deployment.h"
#include "tests/testing/process.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/terminal.h"

namespace docket::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr const char* kPrograms[] = {"docket-todo", "docket-log", "postgres"};

class LocalUpTest : public ::testing::Test {
 protected:
  LocalUpTest() {
    chmod(folder_.path().c_str(), 0711);  // Postgres runs as another user
    env_ = {{"DOCKET_STATE_DIR", folder_.File("state")},
            {"DOCKET_BIN", fs::path(ProgramPath("docket")).parent_path().string()},
            {"DOCKET_LOG_ADDRESS", log_port_.address()},
            {"DOCKET_TODO_ADDRESS", todo_port_.address()},
            {"DOCKET_TENANT", "local"}};
  }
  ~LocalUpTest() override { Run({Script("down")}); }

  static std::string Script(const std::string& name) {
    return (fs::path(DOCKET_SOURCE_DIR) / "deploy" / "local" / name).string();
  }
  RunResult Run(const std::vector<std::string>& command, const std::string& input = "") {
    const std::string path = folder_.File("input");
    WriteFile(path, input);
    const auto run = RunProgram({.command = command, .env = env_, .stdin_path = path}, absl::Minutes(2));
    return run.ok() ? *run : RunResult{-1, run.status().ToString()};
  }
  RunResult Docket(std::vector<std::string> arguments, const std::string& input = "") {
    arguments.insert(arguments.begin(), ProgramPath("docket"));
    return Run(arguments, input);
  }
  // 0: it does not run.
  pid_t PidOf(const std::string& program) {
    int pid = 0;
    const std::string text = ReadFile(folder_.File("state/run/" + program + ".pid"));
    return absl::SimpleAtoi(text, &pid) && !HasEnded(pid) ? pid : 0;
  }
  void ExpectAllRun(bool expected) {
    for (const char* program : kPrograms) EXPECT_EQ(PidOf(program) != 0, expected) << program;
  }

  TempFolder folder_;
  ReservedPort log_port_, todo_port_;
  std::map<std::string, std::string> env_;
};

TEST_F(LocalUpTest, WhatWasStoredOutlivesKillsAndStops) {
  const RunResult up = Run({Script("up"), "--detach"});
  ASSERT_EQ(up.exit_code, 0) << up.output;
  EXPECT_THAT(up.output, HasSubstr("ready after"));
  ExpectAllRun(true);
  const RunResult written =
      Docket({"write", "--session", "s", "--open-session", "-"}, R"([{"content":"stay","status":"in_progress"}])");
  ASSERT_EQ(written.exit_code, 0) << written.output;
  EXPECT_THAT(Run({Script("up"), "--detach"}).output, HasSubstr("runs already"));

  for (const char* program : kPrograms) {
    const pid_t pid = PidOf(program);
    kill(pid, SIGKILL);
    while (!HasEnded(pid)) absl::SleepFor(absl::Milliseconds(1));  // killed already
  }
  const absl::Time begin = absl::Now();
  const RunResult again = Run({Script("up"), "--detach"});
  ASSERT_EQ(again.exit_code, 0) << again.output;
  EXPECT_LT(absl::Now() - begin, absl::Seconds(50));
  ExpectAllRun(true);
  EXPECT_THAT(Docket({"plan", "get", "s"}).output, HasSubstr("◉ stay"));

  EXPECT_EQ(Run({Script("down")}).exit_code, 0);
  ExpectAllRun(false);
  EXPECT_EQ(Docket({"--patience", "0", "plan", "get", "s"}).exit_code, 3);
  EXPECT_EQ(Run({Script("down")}).exit_code, 0);  // nothing to do is no error
  ASSERT_EQ(Run({Script("up"), "--detach"}).exit_code, 0);
  EXPECT_THAT(Docket({"plan", "get", "s"}).output, HasSubstr("◉ stay"));
}

TEST_F(LocalUpTest, ShowsTheDemoLiveAndStopsWithCtrlC) {
  {
    Terminal terminal(Script("up"), env_, 100, 30);
    // The plans change while they are watched.
    EXPECT_TRUE(terminal.WaitForText("◉ Reading the notes")) << terminal.text();
    EXPECT_TRUE(terminal.WaitForText("◉ Writing the summary")) << terminal.text();
    EXPECT_TRUE(terminal.WaitForText("2/2 done")) << terminal.text();
    terminal.Press("C-c");
    EXPECT_TRUE(terminal.WaitForText("ended with")) << terminal.text();
  }
  ExpectAllRun(false);
  Terminal terminal(absl::StrCat(Script("up"), " --no-demo"), env_, 100, 30);
  EXPECT_TRUE(terminal.WaitForText("Stop with Ctrl-C")) << terminal.text();
  ExpectAllRun(true);
  EXPECT_THAT(Docket({"plan", "list"}).output, HasSubstr("done"));
  terminal.Press("C-c");
  EXPECT_TRUE(terminal.WaitForText("ended with")) << terminal.text();
  ExpectAllRun(false);
}

TEST_F(LocalUpTest, SaysWhatIsWrong) {
  EXPECT_EQ(Run({Script("up"), "--nonsense"}).exit_code, 2);
  env_["DOCKET_LOG_ADDRESS"] = "nowhere:1";
  const RunResult up = Run({Script("up"), "--detach"});
  EXPECT_EQ(up.exit_code, 1);
  EXPECT_THAT(up.output, HasSubstr("docket-log does not start"));
}

}  // namespace
}  // namespace docket::testing
