// The whole terminal as a screen, by ncurses.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "bench/top/lines.h"

namespace stoker {

// Takes the terminal over, with SIGINT, SIGTERM and SIGHUP, until the destructor gives all of it back.
// Threads: one, and one of them at a time.
class Terminal {
 public:
  enum class Key : uint8_t { kNone, kQuit, kHelp, kNext, kPrevious, kOther, kSignal };

  // Nothing where standard input and output are no terminal, or one whose cursor cannot be moved (TERM=dumb, or unknown
  // here).
  static std::unique_ptr<Terminal> Open();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  int width() const;
  int height() const;
  void Show(const std::vector<ScreenLine>& lines);
  // The next key; kNone after that time, or where the size has changed; kSignal for good after a signal.
  Key Wait(std::chrono::milliseconds patience);

 private:
  struct State;
  explicit Terminal(std::unique_ptr<State> state);
  const std::unique_ptr<State> state_;
};

// Columns of the terminal at standard output; 80 where it is none.
int OutputColumns();

}  // namespace stoker
