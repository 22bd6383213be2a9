#include "bench/status_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "bench/steady_seconds.h"

namespace stoker {
namespace {

// Before that the time left is a guess.
constexpr double kTellsFrom = 0.02;

}  // namespace

StatusLine::StatusLine() : terminal_(isatty(STDERR_FILENO) != 0), start_(SteadySeconds()) {}

void StatusLine::Show(double done, const std::string& words) {
  std::string left;
  if (done >= kTellsFrom && done < 1) {
    const auto seconds = static_cast<int>((1 - done) * (SteadySeconds() - start_) / done);
    left = fmt::format("  {}:{:02} left", seconds / 60, seconds % 60);
  }
  if (terminal_) fmt::print(stderr, "\r\x1b[K{:.0f} %  {}{}", 100 * done, words, left);
  if (!terminal_ && words != shown_) fmt::print(stderr, "{:.0f} %  {}{}\n", 100 * done, words, left);
  shown_ = words;
  std::fflush(stderr);
}

void StatusLine::Print(const std::string& line) const {
  End();
  fmt::print(stderr, "{}\n", line);
}

void StatusLine::End() const {
  if (terminal_) fmt::print(stderr, "\r\x1b[K");
}

}  // namespace stoker
