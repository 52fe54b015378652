#include "tests/testing/terminal.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace docket::testing {

Terminal::Terminal(const std::string& command, const std::map<std::string, std::string>& env, int columns, int rows) {
  std::string line;
  for (const auto& [name, value] : env) absl::StrAppend(&line, "export ", name, "='", value, "'; ");
  // The shell outlives a Ctrl-C that is meant for the command.
  absl::StrAppend(&line, "trap : INT; ", command, "; echo ended with $?; sleep 1000");
  Tmux({"-f", "/dev/null", "new-session", "-d", "-x", absl::StrCat(columns), "-y", absl::StrCat(rows), line});
}

Terminal::~Terminal() {
  Tmux({"kill-server"});
}

std::string Terminal::text() {
  return Tmux({"capture-pane", "-p"});
}

void Terminal::Press(const std::string& key) {
  Tmux({"send-keys", key});
}

void Terminal::Resize(int columns, int rows) {
  Tmux({"resize-window", "-x", absl::StrCat(columns), "-y", absl::StrCat(rows)});
}

bool Terminal::WaitForText(const std::string& wanted, absl::Duration timeout) {
  const absl::Time give_up = absl::Now() + timeout;
  while (!absl::StrContains(text(), wanted)) {
    if (absl::Now() > give_up) return false;
    absl::SleepFor(absl::Milliseconds(20));
  }
  return true;
}

std::string Terminal::Tmux(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"/usr/bin/tmux", "-u", "-S", folder_.File("socket")});
  // Not within one that this test may run in, and with no locale to help.
  const auto run =
      RunProgram({.command = arguments, .env = {{"TMUX", ""}, {"LC_ALL", "C"}, {"TERM", "xterm"}}}, absl::Minutes(1));
  return run.ok() ? run->output : run.status().ToString();
}

}  // namespace docket::testing
