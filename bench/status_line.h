// One line on stderr that long work rewrites: how far it is, what it does, how long it will take.
#pragma once

#include <string>

namespace stoker {

// Threads: one. Without a terminal each line of words that differs from the one before stands for itself, with no
// control characters.
class StatusLine {
 public:
  StatusLine();

  // `done`: the share of the work, 0 to 1, which the time left is told from; `words`: what is under way.
  void Show(double done, const std::string& words);
  // A line that stays.
  void Print(const std::string& line) const;
  // Clears the terminal's line, so that what follows starts on a clean one.
  void End() const;

 private:
  const bool terminal_;
  const double start_;
  std::string shown_;
};

}  // namespace stoker
