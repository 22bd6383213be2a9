#include "bench/top/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <utility>

// Last: it defines macros of common names.
#include <curses.h>

namespace stoker {
namespace {

constexpr int kPlainColumns = 80;

volatile std::sig_atomic_t signalled = 0;
void NoteSignal(int) { signalled = 1; }

constexpr std::array<int, 3> kEndingSignals = {SIGINT, SIGTERM, SIGHUP};

attr_t AttributesOf(Tone tone) {
  switch (tone) {
    case Tone::kTitle:
      return A_BOLD;
    case Tone::kDim:
      return A_DIM;
    case Tone::kBar:
      return has_colors() ? static_cast<attr_t>(COLOR_PAIR(COLOR_CYAN)) : A_NORMAL;
    case Tone::kWarning:
      return has_colors() ? A_BOLD | static_cast<attr_t>(COLOR_PAIR(COLOR_YELLOW)) : A_BOLD;
    case Tone::kPlain:
      break;
  }
  return A_NORMAL;
}

// Of the terminal that newterm() was told of.
bool CanMoveTheCursor() {
  const char* const move = tigetstr("cup");
  return move != nullptr && move != reinterpret_cast<const char*>(-1);
}

}  // namespace

struct Terminal::State {
  SCREEN* screen = nullptr;
  std::array<struct sigaction, kEndingSignals.size()> before = {};
};

std::unique_ptr<Terminal> Terminal::Open() {
  if (isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0) return nullptr;
  auto state = std::make_unique<State>();
  state->screen = newterm(nullptr, stdout, stdin);
  if (state->screen == nullptr) return nullptr;
  if (!CanMoveTheCursor()) {
    endwin();
    delscreen(state->screen);
    return nullptr;
  }
  return std::unique_ptr<Terminal>(new Terminal(std::move(state)));
}

Terminal::Terminal(std::unique_ptr<State> state) : state_(std::move(state)) {
  set_term(state_->screen);
  signalled = 0;
  struct sigaction action = {};
  action.sa_handler = NoteSignal;
  for (size_t i = 0; i < kEndingSignals.size(); ++i) sigaction(kEndingSignals[i], &action, &state_->before[i]);
  cbreak();
  noecho();
  keypad(stdscr, TRUE);
  curs_set(0);
  if (has_colors()) {
    start_color();
    use_default_colors();
    init_pair(COLOR_YELLOW, COLOR_YELLOW, -1);
    init_pair(COLOR_CYAN, COLOR_CYAN, COLOR_CYAN);  // bars: solid, and characters where they are copied
  }
}

Terminal::~Terminal() {
  endwin();
  delscreen(state_->screen);
  for (size_t i = 0; i < kEndingSignals.size(); ++i) sigaction(kEndingSignals[i], &state_->before[i], nullptr);
}

int Terminal::width() const { return getmaxx(stdscr); }
int Terminal::height() const { return getmaxy(stdscr); }

void Terminal::Show(const std::vector<ScreenLine>& lines) {
  erase();
  for (size_t row = 0; row < lines.size(); ++row) {
    move(static_cast<int>(row), 0);
    for (const Span& span : lines[row]) {
      attrset(static_cast<int>(AttributesOf(span.tone)));
      addstr(span.text.c_str());
    }
  }
  attrset(A_NORMAL);
  refresh();
}

Terminal::Key Terminal::Wait(std::chrono::milliseconds patience) {
  if (signalled != 0) return Key::kSignal;
  timeout(static_cast<int>(patience.count()));
  const int key = getch();
  if (signalled != 0) return Key::kSignal;
  switch (key) {
    case ERR:
    case KEY_RESIZE:
      return Key::kNone;
    case 'q':
    case 'Q':
      return Key::kQuit;
    case 'h':
    case 'H':
    case '?':
      return Key::kHelp;
    case '\t':
    case KEY_RIGHT:
    case KEY_DOWN:
      return Key::kNext;
    case KEY_BTAB:
    case KEY_LEFT:
    case KEY_UP:
      return Key::kPrevious;
    default:
      return Key::kOther;
  }
}

int OutputColumns() {
  struct winsize size = {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return kPlainColumns;
}

}  // namespace stoker
