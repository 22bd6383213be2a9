#include "bench/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "bench/steady_seconds.h"

namespace stoker {
namespace {

constexpr double kRedrawSeconds = 0.25;
constexpr double kSmoothing = 0.3;  // of the newest rate in the moving average

// The stage that took most of the path since the last look.
const char* HeldBackBy(const StallReport& now, const StallReport& before) {
  size_t leader = 0;
  double most = -1;
  for (size_t i = 0; i < kStages; ++i) {
    const double since = now.shares[i] * now.seconds - before.shares[i] * before.seconds;
    if (since > most) leader = i;
    most = std::max(most, since);
  }
  return kStageNames[leader];
}

std::string Clock(double seconds) {
  const auto whole = static_cast<int64_t>(seconds);
  return whole >= 3600 ? fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60)
                       : fmt::format("{}:{:02}", whole / 60, whole % 60);
}

}  // namespace

Progress::Progress(int64_t total)
    : total_(total), terminal_(isatty(STDERR_FILENO) != 0), start_(SteadySeconds()), shown_(start_) {}

std::string Progress::LineFor(Loader& loader, const Batch& batch, double now) {
  const StallReport report = loader.Report();
  const double rate = static_cast<double>(samples_ - shown_samples_) / std::max(now - shown_, 1e-9);
  moving_rate_ = moving_rate_ == 0 ? rate : kSmoothing * rate + (1 - kSmoothing) * moving_rate_;
  const double left = static_cast<double>(total_ - batches_) * (now - start_) / static_cast<double>(batches_);
  std::string line = fmt::format("epoch {}  batch {}/{}  {:.0f} images/s  held back by {}  {} left", batch.epoch(),
                                 batches_, total_, moving_rate_, HeldBackBy(report, shown_report_), Clock(left));
  shown_ = now;
  shown_samples_ = samples_;
  shown_report_ = report;
  return line;
}

void Progress::Step(Loader& loader, const Batch& batch) {
  ++batches_;
  samples_ += batch.size();
  const double now = SteadySeconds();
  if (!terminal_ || now - shown_ < kRedrawSeconds) return;
  fmt::print(stderr, "\r\x1b[K{}", LineFor(loader, batch, now));
  std::fflush(stderr);
}

void Progress::Print(const std::string& line) const {
  fmt::print(stderr, "{}{}\n", terminal_ ? "\r\x1b[K" : "", line);
  std::fflush(stderr);
}

void Progress::End() {
  if (terminal_ && shown_ != start_) fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
}

}  // namespace stoker
