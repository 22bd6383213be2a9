#include "loader/worker_tuner.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace stoker {
namespace {

// Of a batch's time, what a caller may wait: less is what chance does to some tens of batches.
constexpr double kBorne = 0.03;
// Workers are full from here on. Less full, they lose 3 % at most to more of them, however much the times of
// samples differ (tests/bench/validate/auto_workers_test.cc).
constexpr double kFull = 0.85;
// A caller whose steps differ much asks this many times faster than on average at most: batches ahead bear the rest.
constexpr double kMostBurst = 1.25;
// Fewer workers are worth a change from this share of them on.
constexpr double kWorthIt = 0.2;
// A demand so many times that of the lowering is another one, and the lowering was right; unless demands change within
// so few windows that nothing can be gained by following them.
constexpr double kOtherDemand = 1.2;
constexpr int32_t kSoon = 8;
constexpr int32_t kMostReversals = 3;

double BatchNs(const WorkerWindow& window) { return window.step_ns + window.stall_ns; }

// How many workers the caller would keep busy if it waited `stall_ns` for each batch.
double Load(const WorkerWindow& window, double stall_ns) {
  const double step_ns = std::max(window.step_ns - window.spread_ns, window.step_ns / kMostBurst);
  return window.worker_ns / std::max(step_ns + stall_ns, 1.0);
}

}  // namespace

bool WorkerTuner::TooFew(const WorkerWindow& window) const noexcept {
  return active_ < most_ && window.workers_lead && window.stall_ns > kBorne * BatchNs(window) &&
         window.worker_ns > kFull * active_ * BatchNs(window);
}

int32_t WorkerTuner::Wanted(double load) const noexcept {
  const double wanted = std::ceil(load / utilisation_);
  return wanted >= most_ ? most_ : std::max(static_cast<int32_t>(wanted), 1);
}

int32_t WorkerTuner::Decide(const WorkerWindow& window) noexcept {
  ++windows_since_;
  const double demand = Load(window, 0);
  if (TooFew(window)) {
    if (demand <= kOtherDemand * demand_then_ || windows_since_ <= kSoon) {
      ++reversals_;
      utilisation_ *= kUtilisation;
    }
    return active_ = wanted_before_ = most_;
  }
  // What the caller waits for other stages, no number of workers saves it.
  const int32_t wanted = Wanted(window.workers_lead ? demand : Load(window, window.stall_ns));
  const int32_t fewer = std::max(wanted, std::exchange(wanted_before_, wanted));  // one window may be chance
  if (reversals_ == kMostReversals || active_ - fewer < std::max(kWorthIt * active_, 1.0)) return active_;
  demand_then_ = demand;
  windows_since_ = 0;
  return active_ = fewer;
}

}  // namespace stoker
