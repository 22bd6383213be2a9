#include "loader/active_workers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "loader/stall_log.h"
#include "loader/workers.h"

namespace stoker {
namespace {

// A window: so many batches, over so long at least. What is ahead of the caller is a small part of either.
constexpr int64_t kWindowBatches = 32;
constexpr int64_t kWindowNs = 300'000'000;
constexpr size_t kMostSteps = 64;
// One in so many steps may be a pause (a checkpoint, a validation run), which tells nothing: where it is so many times
// as long as others.
constexpr size_t kPauses = 20;
constexpr double kPause = 8;
// Of the path, what workers must have for more of them to help.
constexpr double kWorthMore = 0.03;

// Whether samples wait for workers rather than for storage, the link or a hand-over between threads.
bool WorkersLead(const StallTotals& totals) {
  const PartTimes& parts = totals.path.parts();
  const StageTimes stages = totals.path.stages();
  const auto of = [](const auto& times, auto index) { return times[static_cast<size_t>(index)]; };
  // Files in the page cache are opened and read by workers.
  const bool cached = 2 * totals.cached_reads > totals.samples;
  const int64_t read_ns = of(parts, Part::kPageCache) + (cached ? of(parts, Part::kOpen) : 0);
  const int64_t worker_ns = of(stages, Stage::kDecode) + read_ns;
  const int64_t other_ns =
      std::max({of(stages, Stage::kIo) - read_ns, of(stages, Stage::kCopy), of(stages, Stage::kRuntime)});
  return worker_ns > other_ns && static_cast<double>(worker_ns) > kWorthMore * static_cast<double>(totals.wall_ns);
}

}  // namespace

ActiveWorkers::ActiveWorkers(StallLog& log, Workers& workers, int32_t most, bool choose, int64_t now_ns)
    : log_(log), workers_(workers), most_(most), active_(most) {
  if (choose) tuner_.emplace(most);
  log_.SetWorkers(static_cast<uint32_t>(most), now_ns);
}

void ActiveWorkers::Set(int32_t active, int64_t now_ns) {
  if (active < 1 || active > most_) {
    throw std::invalid_argument(fmt::format("active workers: {} (allowed: 1 to num_workers = {})", active, most_));
  }
  tuner_.reset();
  Tell(active, now_ns);
}

void ActiveWorkers::Tell(int32_t active, int64_t now_ns) {
  active_ = active;
  workers_.SetActive(static_cast<uint32_t>(active));
  log_.SetWorkers(static_cast<uint32_t>(active), now_ns);
}

void ActiveWorkers::FillSteps(int64_t batch, WorkerWindow& window) const {
  std::array<double, kMostSteps> steps;
  size_t count = 0;
  const auto most = static_cast<int64_t>(steps.size());
  for (int64_t i = std::max({log_.first_held(), first_batch_, batch - most}); i < batch; ++i) {
    const BatchRecord* const record = log_.FindBatch(i);
    // A stream's step ends some batches later.
    if (record == nullptr || (record->to_stream && record->device_done_ns == 0)) continue;
    int64_t step_ns = 0;
    log_.Parts({Cause::kConsumer, i}, [&](const StallLog::Segment& part) { step_ns += part.to_ns - part.from_ns; });
    steps[count++] = static_cast<double>(step_ns);
  }
  if (count == 0) return;
  std::sort(steps.begin(), steps.begin() + static_cast<ptrdiff_t>(count));
  const double pause_ns = kPause * steps[count / 2];
  for (size_t pauses = count / kPauses; pauses > 0 && steps[count - 1] > pause_ns; --pauses) --count;
  const auto end = steps.begin() + static_cast<ptrdiff_t>(count);
  const auto kept = static_cast<double>(count);
  window.step_ns = std::accumulate(steps.begin(), end, 0.0) / kept;
  window.spread_ns = std::sqrt(std::accumulate(steps.begin(), end, 0.0,
                                               [&](double sum, double step) {
                                                 return sum + (step - window.step_ns) * (step - window.step_ns);
                                               }) /
                               kept);
}

WorkerWindow ActiveWorkers::Window(int64_t batch, int64_t now_ns) const {
  const StallTotals totals = log_.LapTotals(Lap::kTuning, now_ns);
  const auto batches = static_cast<double>(std::max<int64_t>(totals.batches, 1));
  WorkerWindow window;
  window.worker_ns = static_cast<double>(totals.decode_ns + totals.augment_ns + totals.cached_read_ns) / batches;
  window.stall_ns = static_cast<double>(std::max<int64_t>(totals.stall_ns + totals.device_stall_ns, 0)) / batches;
  window.workers_lead = WorkersLead(totals);
  FillSteps(batch, window);
  return window;
}

void ActiveWorkers::BatchGiven(int64_t batch, int64_t now_ns) {
  if (!kCountersOn || !tuner_) return;
  if (begin_ns_ != 0) {
    if (batch - first_batch_ < kWindowBatches || now_ns - begin_ns_ < kWindowNs) return;
    const int32_t active = tuner_->Decide(Window(batch, now_ns));
    if (active != active_) Tell(active, now_ns);
  }
  log_.StartLap(Lap::kTuning, now_ns);
  begin_ns_ = now_ns;
  first_batch_ = batch;
}

}  // namespace stoker
