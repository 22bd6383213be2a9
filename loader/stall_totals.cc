#include "loader/stall_totals.h"

#include <algorithm>
#include <utility>

namespace stoker {

void PathSums::EndBatch(int64_t now_ns) noexcept {
  if (++batches_ < batches_each_) return;
  batches_ = 0;
  windows_[++count_] = {now_ns, {}};
  if (count_ == kMostWindows) MergePairs();
}

void PathSums::MergePairs() noexcept {
  const Window open = windows_[count_];
  for (size_t i = 0; i < count_ / 2; ++i) {
    const Window& second = windows_[2 * i + 1];
    Window merged = windows_[2 * i];
    for (size_t stage = 0; stage < kStages; ++stage) merged.times[stage] += second.times[stage];
    windows_[i] = merged;
  }
  count_ /= 2;
  windows_[count_] = open;
  batches_each_ *= 2;
}

void PathSums::Add(Part part, int64_t from_ns, int64_t to_ns) noexcept {
  from_ns = std::max(from_ns, begin_ns());
  if (from_ns >= to_ns) return;
  parts_[static_cast<size_t>(part)] += to_ns - from_ns;
  // Paths are walked backwards, and what is added is young: the windows that it lies in are the last ones.
  for (size_t i = count_ + 1; i-- > 0 && to_ns > from_ns;) {
    const int64_t begin = std::max(from_ns, windows_[i].begin_ns);
    if (begin >= to_ns) continue;
    windows_[i].times[static_cast<size_t>(StageOf(part))] += to_ns - begin;
    to_ns = begin;
  }
}

StageTimes PathSums::stages() const noexcept {
  StageTimes stages = {};
  for (size_t i = 0; i < kParts; ++i) stages[static_cast<size_t>(StageOf(static_cast<Part>(i)))] += parts_[i];
  return stages;
}

void PathSums::Move(Part from, Part to) noexcept {
  parts_[static_cast<size_t>(to)] += std::exchange(parts_[static_cast<size_t>(from)], 0);
  for (size_t i = 0; i <= count_; ++i) {
    StageTimes& times = windows_[i].times;
    times[static_cast<size_t>(StageOf(to))] += std::exchange(times[static_cast<size_t>(StageOf(from))], 0);
  }
}

StallTotals StallTotals::Since(const StallTotals& base) const noexcept {
  StallTotals rest = *this;
  rest.stall_ns -= base.stall_ns;
  rest.device_stall_ns -= base.device_stall_ns;
  rest.workers_ns -= base.workers_ns;
  rest.read_ns -= base.read_ns;
  rest.decode_ns -= base.decode_ns;
  rest.augment_ns -= base.augment_ns;
  rest.copy_ns -= base.copy_ns;
  rest.consumer_ns -= base.consumer_ns;
  rest.device_step_ns -= base.device_step_ns;
  rest.device_steps -= base.device_steps;
  rest.cached_read_ns -= base.cached_read_ns;
  rest.clocked_ns -= base.clocked_ns;
  rest.on_cpu_ns -= base.on_cpu_ns;
  rest.samples -= base.samples;
  rest.batches -= base.batches;
  rest.bytes -= base.bytes;
  rest.cached_reads -= base.cached_reads;
  return rest;
}

}  // namespace stoker
