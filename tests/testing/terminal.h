#ifndef DOCKET_TESTS_TESTING_TERMINAL_H_
#define DOCKET_TESTS_TESTING_TERMINAL_H_

#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tests/testing/process.h"

namespace docket::testing {

// A terminal with a command in it, as a person would see it. Not thread-safe.
class Terminal {
 public:
  // `command` is for a shell; its exit code is shown as "ended with N".
  Terminal(const std::string& command, const std::map<std::string, std::string>& env, int columns, int rows);
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // What stands on the screen.
  std::string text();
  // A key by the name that tmux has for it: "q", "C-c", "PageDown".
  void Press(const std::string& key);
  void Resize(int columns, int rows);
  // Whether `wanted` comes to stand on the screen in time.
  bool WaitForText(const std::string& wanted, absl::Duration timeout = absl::Seconds(60));

 private:
  std::string Tmux(std::vector<std::string> arguments);

  TempFolder folder_;
};

}  // namespace docket::testing

#endif  // DOCKET_TESTS_TESTING_TERMINAL_H_
