#include "tests/testing/process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "services/common/log.h"

extern char** environ;

namespace docket::testing {
namespace {

// Replaces the process; runs between fork and exec, so it only makes system calls.
[[noreturn]] void Execute(char* const* argv, char* const* env, int input, int output, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(126);  // the test died before that took effect
  dup2(input, 0);
  dup2(output, 1);
  dup2(output, 2);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execve(argv[0], argv, env);
  _exit(127);
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

absl::StatusOr<Process> Process::Start(const Options& options) {
  std::vector<std::string> command = options.command, env;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!options.env.contains(text.substr(0, text.find('=')))) env.push_back(text);
  }
  for (const auto& [key, value] : options.env) env.push_back(absl::StrCat(key, "=", value));
  const std::string output_path = options.output_path.empty() ? "/dev/null" : options.output_path;
  const int input = open(options.stdin_path.c_str(), O_RDONLY | O_CLOEXEC);
  const int output = open(output_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (input < 0 || output < 0) return absl::InternalError(absl::StrCat("cannot open ", output_path));
  std::vector<char*> argv = Pointers(command), envp = Pointers(env);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) Execute(argv.data(), envp.data(), input, output, parent);
  close(input);
  close(output);
  if (pid < 0) return absl::InternalError("fork failed");
  return Process(pid);
}

Process::Process(Process&& other) noexcept : pid_(std::exchange(other.pid_, -1)), exit_code_(other.exit_code_) {}

Process& Process::operator=(Process&& other) noexcept {
  if (this != &other) {
    Kill();
    pid_ = std::exchange(other.pid_, -1);
    exit_code_ = other.exit_code_;
  }
  return *this;
}

Process::~Process() {
  Kill();
}

bool Process::running() {
  return pid_ > 0 && !Wait(absl::ZeroDuration()).ok();
}

void Process::Signal(int signal) {
  if (running()) kill(pid_, signal);
}

void Process::Kill() {
  if (!running()) return;
  kill(pid_, SIGKILL);
  Wait(absl::Seconds(30)).IgnoreError();  // a killed process ends
}

absl::StatusOr<int> Process::Wait(absl::Duration timeout) {
  const absl::Time deadline = absl::Now() + timeout;
  while (!exit_code_.has_value()) {
    int status = 0;
    const pid_t ended = pid_ > 0 ? waitpid(pid_, &status, WNOHANG) : -1;
    if (ended < 0) return absl::FailedPreconditionError("no such process");
    if (ended == pid_) {
      exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      break;
    }
    if (absl::Now() >= deadline) return absl::DeadlineExceededError("the process still runs");
    absl::SleepFor(absl::Milliseconds(2));  // polls the kernel; there is nothing to be woken by
  }
  return *exit_code_;
}

bool HasEnded(pid_t pid) {
  const std::string stat = ReadFile(absl::StrCat("/proc/", pid, "/stat"));
  const size_t name_end = stat.rfind(')');
  return name_end == std::string::npos || absl::StartsWith(stat.substr(name_end), ") Z") ||
         absl::StartsWith(stat.substr(name_end), ") X");
}

absl::StatusOr<RunResult> RunProgram(const Process::Options& options, absl::Duration timeout) {
  TempFolder folder;
  Process::Options redirected = options;
  redirected.output_path = folder.File("output");
  auto process = Process::Start(redirected);
  if (!process.ok()) return process.status();
  auto code = process->Wait(timeout);
  process->Kill();
  if (!code.ok()) return code.status();
  return RunResult{*code, ReadFile(redirected.output_path)};
}

ReservedPort::ReservedPort() {
  fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(fd_, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
  setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  const bool bound = bind(fd_, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                     getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  CrashUnless(bound, "no loopback port is free");
  port_ = ntohs(address.sin_port);
}

ReservedPort::~ReservedPort() {
  close(fd_);
}

std::string ReservedPort::address() const {
  return absl::StrCat("127.0.0.1:", port_);
}

TempFolder::TempFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "docket-test-XXXXXX").string();
  CrashUnless(mkdtemp(name.data()) != nullptr, "no temporary folder");
  path_ = name;
}

TempFolder::~TempFolder() {
  if (::testing::Test::HasFailure()) return;
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TempFolder::File(absl::string_view name) const {
  return absl::StrCat(path_, "/", name);
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

void WriteFile(const std::string& path, absl::string_view text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
}

}  // namespace docket::testing
