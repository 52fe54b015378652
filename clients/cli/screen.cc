#include "clients/cli/screen.h"

// Functions, not macros with names like `erase`.
#define NCURSES_NOMACROS
#include <curses.h>
#include <langinfo.h>

#include <clocale>
#include <csignal>
#include <cstdio>
#include <string>

#include "absl/status/status.h"

namespace docket::cli {
namespace {

volatile std::sig_atomic_t stop_asked = 0;

void AskToStop(int /*signal*/) {
  stop_asked = 1;
}

void OnSignal(int signal, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  // Without SA_RESTART, so that a wait for a key ends.
  sigaction(signal, &action, nullptr);
}

// ncurses needs a locale whose characters are UTF-8 to show ours.
void UseUtf8() {
  std::setlocale(LC_ALL, "");
  if (std::string(nl_langinfo(CODESET)) != "UTF-8") std::setlocale(LC_CTYPE, "C.UTF-8");
}

constexpr short kYellow = 1, kGreen = 2, kRed = 3;

attr_t AttributesOf(Style style, short& color) {
  color = 0;
  switch (style) {
    case Style::kPlain:
    case Style::kPending:
      return WA_NORMAL;
    case Style::kBold:
      return WA_BOLD;
    case Style::kDim:
    case Style::kCancelled:
      return WA_DIM;
    case Style::kInProgress:
      color = kYellow;
      return WA_BOLD;
    case Style::kCompleted:
      color = kGreen;
      return WA_NORMAL;
    case Style::kWarning:
      color = kRed;
      return WA_BOLD;
  }
  return WA_NORMAL;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Screen>> Screen::Open() {
  UseUtf8();
  SCREEN* const terminal = newterm(nullptr, stdout, stdin);
  if (terminal == nullptr) return absl::UnavailableError("this terminal cannot be drawn on");
  return std::unique_ptr<Screen>(new Screen(terminal));
}

Screen::Screen(struct screen* terminal) : terminal_(terminal) {
  set_term(terminal_);
  cbreak();
  noecho();
  keypad(stdscr, true);
  curs_set(0);
  set_escdelay(50);
  if (has_colors()) {
    start_color();
    use_default_colors();
    init_pair(kYellow, COLOR_YELLOW, -1);
    init_pair(kGreen, COLOR_GREEN, -1);
    init_pair(kRed, COLOR_RED, -1);
  }
  stop_asked = 0;
  OnSignal(SIGINT, AskToStop);
  OnSignal(SIGTERM, AskToStop);
}

Screen::~Screen() {
  endwin();
  delscreen(terminal_);
  OnSignal(SIGINT, SIG_DFL);
  OnSignal(SIGTERM, SIG_DFL);
}

int Screen::rows() const {
  return getmaxy(stdscr);
}

int Screen::columns() const {
  return getmaxx(stdscr);
}

void Screen::Draw(const std::vector<Line>& lines) {
  erase();
  int row = 0;
  for (const Line& line : lines) {
    if (row >= rows()) break;
    move(row++, 0);
    for (const Span& span : line) {
      short color = 0;
      const attr_t attributes = AttributesOf(span.style, color);
      attr_set(attributes, has_colors() ? color : short{0}, nullptr);
      addstr(span.text.c_str());
    }
  }
  refresh();
}

Key Screen::Wait(absl::Duration timeout) {
  if (stop_asked != 0) return Key::kQuit;
  ::timeout(static_cast<int>(absl::ToInt64Milliseconds(timeout)));
  const int key = getch();
  if (stop_asked != 0) return Key::kQuit;
  switch (key) {
    case 'q':
    case 'Q':
    case 27:  // Escape
      return Key::kQuit;
    case KEY_UP:
    case 'k':
      return Key::kUp;
    case KEY_DOWN:
    case 'j':
      return Key::kDown;
    case KEY_PPAGE:
      return Key::kPageUp;
    case KEY_NPAGE:
    case ' ':
      return Key::kPageDown;
    case KEY_HOME:
    case 'g':
      return Key::kTop;
    case KEY_END:
    case 'G':
      return Key::kBottom;
    case KEY_RESIZE:
      return Key::kResized;
    default:
      return Key::kNone;
  }
}

}  // namespace docket::cli
