// What a run shows while it goes on: one line that is rewritten on a terminal, and the periodic reports above it.
#pragma once

#include <cstdint>
#include <string>

#include "loader/loader.h"

namespace stoker {

// Writes to stderr, so that stdout holds the report alone. No control characters unless stderr is a terminal.
// Threads: one.
class Progress {
 public:
  // `total` batches in all epochs.
  explicit Progress(int64_t total);

  // After each batch. Cheap: asks the loader for a report a few times a second at most.
  void Step(Loader& loader, const Batch& batch);
  // A line that stays.
  void Print(const std::string& line) const;
  // Clears the terminal's line, so that what follows starts on a clean one.
  void End();

 private:
  std::string LineFor(Loader& loader, const Batch& batch, double now);

  const int64_t total_;
  const bool terminal_;
  const double start_;
  int64_t batches_ = 0;
  int64_t samples_ = 0;
  double shown_ = 0;
  int64_t shown_samples_ = 0;
  double moving_rate_ = 0;
  StallReport shown_report_;
};

}  // namespace stoker
