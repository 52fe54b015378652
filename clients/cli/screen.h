#ifndef DOCKET_CLIENTS_CLI_SCREEN_H_
#define DOCKET_CLIENTS_CLI_SCREEN_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "clients/cli/plan_lines.h"

struct screen;  // of ncurses

namespace docket::cli {

enum class Key { kNone, kQuit, kUp, kDown, kPageUp, kPageDown, kTop, kBottom, kResized };

// The terminal as a whole, drawn on by ncurses. One at a time in a program. Not thread-safe.
//
// While it lives, SIGINT and SIGTERM are keys: kQuit.
class Screen {
 public:
  // UNAVAILABLE: this terminal cannot be drawn on.
  static absl::StatusOr<std::unique_ptr<Screen>> Open();
  // Gives the terminal back as it was.
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  int rows() const;
  int columns() const;
  // Shows these lines from the top on, and nothing else.
  void Draw(const std::vector<Line>& lines);
  // The next key; kNone after `timeout`, or for a key that means nothing.
  Key Wait(absl::Duration timeout);

 private:
  explicit Screen(struct screen* terminal);

  struct screen* const terminal_;
};

}  // namespace docket::cli

#endif  // DOCKET_CLIENTS_CLI_SCREEN_H_
