#include "loader/monitor/epochs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace stoker {
namespace {

constexpr double kMega = 1e6;
// Growth below these an epoch is noise: of the process, and in bytes.
constexpr double kGrowthShare = 0.01;
constexpr double kGrowthBytes = 64 * kMega;
// Of the pairs of epochs, how many must have grown: a job that takes and gives back has about half.
constexpr double kGrowingPairs = 0.8;
// The slope of one epoch says nothing, of three not much.
constexpr size_t kFewestEpochs = 4;
// A step that takes this much longer, and in every epoch since, is slower for good.
constexpr double kSlower = 1.15;
// Shorter epochs differ by chance: by what else the machine does.
constexpr double kShortestSeconds = 1;
constexpr size_t kFewestBefore = 2, kFewestAfter = 2;

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Between all pairs of epochs but the first one, what `bytes` of an epoch gains an epoch.
template <typename Bytes>
std::vector<double> Slopes(const std::vector<EpochFigures>& epochs, const Bytes& bytes) {
  std::vector<double> slopes;
  for (size_t i = 1; i < epochs.size(); ++i) {
    for (size_t j = i + 1; j < epochs.size(); ++j) {
      const auto between = static_cast<double>(epochs[j].epoch) - static_cast<double>(epochs[i].epoch);
      if (between > 0) slopes.push_back((bytes(epochs[j]) - bytes(epochs[i])) / between);
    }
  }
  return slopes;
}

bool HasMemory(const EpochFigures& epoch) { return epoch.anonymous_bytes.has_value(); }
double Anonymous(const EpochFigures& epoch) { return static_cast<double>(epoch.anonymous_bytes.value_or(0)); }
double OfLoader(const EpochFigures& epoch) { return static_cast<double>(epoch.loader_bytes); }

}  // namespace

EpochTrend::Findings EpochTrend::Add(const EpochFigures& epoch) {
  if (added_++ % every_ == 0) {
    epochs_.push_back(epoch);
    if (epochs_.size() == kMost) {
      for (size_t i = 0; i < kMost / 2; ++i) epochs_[i] = epochs_[2 * i];
      epochs_.resize(kMost / 2);
      every_ *= 2;
    }
  }
  return {MemoryWords(), SlowdownWords()};
}

std::optional<double> EpochTrend::growth_bytes() const {
  if (epochs_.size() < kFewestEpochs || !std::ranges::all_of(epochs_, HasMemory)) return std::nullopt;
  const std::vector<double> slopes = Slopes(epochs_, Anonymous);
  return slopes.empty() ? std::nullopt : std::optional(Median(slopes));
}

std::string EpochTrend::MemoryWords() {
  const std::optional<double> growth = growth_bytes();
  if (!growth) return "";
  const auto whole = static_cast<double>(epochs_.back().rss_bytes.value_or(0));
  if (*growth <= std::max(kGrowthBytes, kGrowthShare * whole)) return "";
  const std::vector<double> slopes = Slopes(epochs_, Anonymous);
  const auto growing = static_cast<double>(std::ranges::count_if(slopes, [](double slope) { return slope > 0; }));
  if (growing < kGrowingPairs * static_cast<double>(slopes.size())) return "";
  if (*growth < 2 * growth_said_) return "";
  growth_said_ = *growth;
  const double own = Median(Slopes(epochs_, OfLoader));
  const std::string grows = fmt::format("memory grows by {:.0f} MB an epoch (anonymous, median slope of {} epochs)",
                                        *growth / kMega, epochs_.size());
  if (own > *growth / 2) {
    return fmt::format("{}, {:.0f} MB of it the loader's: batches are kept, or files are larger than its buffers",
                       grows, own / kMega);
  }
  return grows +
         ": growth outside the loader, whose own memory is flat; look for lists that are never cleared (losses, "
         "outputs), with tracemalloc or heaptrack";
}

// The split of the epochs after which every one is slower than every one before; the largest step where several are.
std::string EpochTrend::SlowdownWords() {
  std::vector<EpochFigures> epochs;
  std::ranges::copy_if(epochs_, std::back_inserter(epochs),
                       [](const EpochFigures& epoch) { return epoch.seconds >= kShortestSeconds; });
  double most = kSlower;
  std::optional<size_t> from;
  for (size_t split = kFewestBefore; split + kFewestAfter <= epochs.size(); ++split) {
    std::vector<double> before, after;
    // The first epoch is left out where others are there: caches fill in it.
    for (size_t i = split > kFewestBefore ? 1 : 0; i < split; ++i) before.push_back(epochs[i].step_ms);
    for (size_t i = split; i < epochs.size(); ++i) after.push_back(epochs[i].step_ms);
    if (*std::ranges::min_element(after) <= *std::ranges::max_element(before)) continue;
    const double ratio = Median(after) / std::max(Median(before), 1e-9);
    if (ratio < most) continue;
    most = ratio;
    from = split;
  }
  if (!from || slower_from_said_ == epochs[*from].epoch) return "";
  slower_from_said_ = epochs[*from].epoch;
  return fmt::format("steps take {:.0f} % longer since epoch {}", 100 * (most - 1), *slower_from_said_);
}

}  // namespace stoker
