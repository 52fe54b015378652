#include "tests/testing/temp_postgres.h"

#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "services/common/status_macros.h"

namespace docket::testing {
namespace {

constexpr absl::Duration kStartTime = absl::Seconds(60);

// Where the newest installed server is; empty if there is none.
std::string ServerFolder() {
  if (const char* folder = getenv("DOCKET_POSTGRES_BIN"); folder != nullptr) return folder;
  std::string newest;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/usr/lib/postgresql", none)) {
    const std::string folder = (entry.path() / "bin").string();
    if (std::filesystem::exists(folder + "/postgres", none)) newest = std::max(newest, folder);
  }
  return newest;
}

// `command`, as user postgres if this is root. The signal on the parent's death does not outlive a change of the user,
// so it is asked for again.
std::vector<std::string> AsServerUser(std::vector<std::string> command) {
  if (geteuid() != 0) return command;
  std::vector<std::string> wrapped = {"/usr/bin/setpriv", "--reuid=postgres", "--regid=postgres",
                                      "--clear-groups",   "--pdeathsig=KILL", "--"};
  wrapped.insert(wrapped.end(), command.begin(), command.end());
  return wrapped;
}

// The processes that `pid` started and that have not ended.
std::vector<pid_t> ChildrenOf(pid_t pid) {
  std::istringstream text(ReadFile(absl::StrCat("/proc/", pid, "/task/", pid, "/children")));
  std::vector<pid_t> children;
  for (pid_t child; text >> child;) children.push_back(child);
  return children;
}

// Whether the server with this pid has written that it takes connections.
bool IsReady(const std::string& data, pid_t pid) {
  std::istringstream text(ReadFile(data + "/postmaster.pid"));
  std::string line, first;
  for (int number = 1; std::getline(text, line); ++number) {
    if (number == 1) first = line;
    if (number == 8) return first == absl::StrCat(pid) && absl::StartsWith(line, "ready");
  }
  return false;
}

}  // namespace

TempPostgres::TempPostgres(std::string folder)
    : folder_(std::move(folder)),
      connection_string_(absl::StrCat("host=", folder_, " user=postgres dbname=postgres")) {}

absl::StatusOr<std::unique_ptr<TempPostgres>> TempPostgres::Create() {
  const std::string programs = ServerFolder();
  if (programs.empty()) return absl::NotFoundError("no Postgres server is installed");
  std::string folder = "/tmp/docket-pg-XXXXXX";  // short: a socket's path has little room
  if (mkdtemp(folder.data()) == nullptr) return absl::InternalError("no temporary folder");
  std::unique_ptr<TempPostgres> postgres(new TempPostgres(folder));
  if (geteuid() == 0) {
    const passwd* user = getpwnam("postgres");
    if (user == nullptr || chown(folder.c_str(), user->pw_uid, user->pw_gid) != 0)
      return absl::InternalError("cannot give the folder to user postgres");
  }
  DOCKET_ASSIGN_OR_RETURN(
      const RunResult made,
      RunProgram({.command = AsServerUser({programs + "/initdb", "--pgdata=" + folder + "/data", "--no-sync",
                                           "--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C"})},
                 kStartTime));
  if (made.exit_code != 0) return absl::InternalError(absl::StrCat("initdb failed: ", made.output));
  DOCKET_RETURN_IF_ERROR(postgres->Start());
  return postgres;
}

TempPostgres::~TempPostgres() {
  Kill();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void TempPostgres::Kill() {
  if (!server_.has_value() || !server_->running()) return;
  server_->Signal(SIGSTOP);  // so that it starts no more of them
  const std::vector<pid_t> children = ChildrenOf(server_->pid());
  for (const pid_t child : children) kill(child, SIGKILL);
  server_->Kill();
  for (const pid_t child : children) {
    while (!HasEnded(child)) absl::SleepFor(absl::Milliseconds(1));  // not ours to wait for, and killed already
  }
  server_.reset();
}

absl::Status TempPostgres::Start() {
  const std::string data = folder_ + "/data";
  auto started = Process::Start({.command = AsServerUser({ServerFolder() + "/postgres", "-D", data, "-k", folder_, "-c",
                                                          "listen_addresses=", "-c", "max_connections=100"}),
                                 .output_path = folder_ + "/server.log"});
  DOCKET_RETURN_IF_ERROR(started.status());
  server_.emplace(*std::move(started));
  const absl::Time deadline = absl::Now() + kStartTime;
  while (!IsReady(data, server_->pid())) {
    if (!server_->running() || absl::Now() > deadline)
      return absl::InternalError(absl::StrCat("Postgres does not start: ", ReadFile(folder_ + "/server.log")));
    absl::SleepFor(absl::Milliseconds(5));  // polls a file of another program
  }
  return absl::OkStatus();
}

}  // namespace docket::testing
