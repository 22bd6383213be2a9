// What is injected, and what a truthful verdict says then: one table for `stoker validate` and for the tests.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/validate/trial.h"

namespace stoker {

// Where a knob is turned.
enum class Injection : uint8_t {
  kNothing,           // all stages within 2 % of each other
  kStorageBandwidth,  // a token bucket
  kReadLatency,
  kDecodeWork,
  kBusyNeighbour,  // others want the workers' CPUs
  kCopyBandwidth,
  kCopyLatency,
  kForeignCopies,  // others copy over the link
  kStep,           // the caller's, on its thread
  kDeviceStep,     // the caller's, on a stream of the device
  kNoDevice,       // the caller's step, and batches stay in host memory
  kFewSlots,       // prefetch_factor = 1
  kTailReads,      // one in a hundred takes twenty times as long
  kFiles,          // CacheTrial's, not MakeTrial's
};

// How the truth about a run is known.
enum class Truth : uint8_t {
  kInjected,    // by the knob: `stage` must be named, in one of the ways `bounds`
  kMixed,       // no stage leads
  kElasticity,  // by measuring: the stage that helps most when it alone is 2 % faster
};

struct Experiment {
  std::string name;
  Injection injection = Injection::kNothing;
  double factor = 1;  // of the load of the slowest other stage
  Spread spread = Spread::kEven;
  Truth truth = Truth::kInjected;
  Stage stage = Stage::kOther;
  std::vector<Bound> bounds;
  double bar = 1;  // the share of runs whose verdict must be right
};

// All of them, in the order in which they are shown.
std::vector<Experiment> AllExperiments();

// The machine that trials are made for.
struct TrialScale {
  double period_ns = 10e6;  // of a batch that takes all of a stage's time
  int32_t batch_size = 8;
  int64_t batches = 64;
  std::vector<int32_t> workers = {2, 4};  // one of them is drawn
};

// The `seed`-th run of it: the other stages' loads, queues and dice are drawn.
TrialConfig MakeTrial(const Experiment& experiment, uint64_t seed, const TrialScale& scale);

// What a verdict names: a stage, or that it is mixed (kMixedName).
std::string_view NamedBy(const StallReport& report);
inline constexpr std::string_view kMixedName = "mixed";

// The kinds of experiment that share a pass bar.
std::string_view ClassOf(const Experiment& experiment);

// Whether the verdict is that truth. Of Truth::kElasticity: `measured` is the stage that helps most, and a mixed
// verdict is right where it is one of the two that it names.
bool IsRight(const Experiment& experiment, const StallReport& report, Stage measured = Stage::kOther);

// By how much the rate grows with each stage alone faster by `faster` (0.02: 2 %), by reruns with the same dice.
using RunOnce = std::function<TrialResult(const TrialConfig&)>;
std::array<double, kServedStages> MeasuredGains(const TrialConfig& config, const StallReport& base, double faster,
                                                const RunOnce& run);

}  // namespace stoker
