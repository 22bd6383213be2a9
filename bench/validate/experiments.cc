#include "bench/validate/experiments.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "augment/random.h"

namespace stoker {
namespace {

// Loads of the stages that nothing is done to, in shares of a period.
constexpr double kLowLoad = 0.3, kHighLoad = 0.8;
// Balanced stages differ by no more than this.
constexpr double kBalanced = 0.02;
// What a neighbour takes of a worker's CPU.
constexpr double kNeighboursShare = 0.5;
// Times that differ much take more of them to tell what they add up to.
constexpr int32_t kUnevenBatchFactor = 4, kUnevenBatchesFactor = 2;
// Where one read in a hundred is slow: so many at once, and so short otherwise, that storage works for 40 % of the
// time.
constexpr int32_t kTailQueueDepth = 16;
constexpr double kTailLoad = 0.3, kIdleLoad = 0.2;

struct Knob {
  Injection injection;
  const char* name;
  Stage stage;
  std::vector<Bound> bounds;
};

const std::vector<Knob>& Knobs() {
  static const std::vector<Knob> knobs = {
      {Injection::kStorageBandwidth, "storage bandwidth", Stage::kIo, {Bound::kCapacity}},
      {Injection::kReadLatency, "read latency", Stage::kIo, {Bound::kCapacity}},
      {Injection::kDecodeWork, "decode work", Stage::kDecode, {Bound::kCapacity}},
      {Injection::kBusyNeighbour, "busy neighbour", Stage::kDecode, {Bound::kStarved}},
      {Injection::kCopyBandwidth, "copy bandwidth", Stage::kCopy, {Bound::kCapacity}},
      {Injection::kCopyLatency, "copy latency", Stage::kCopy, {Bound::kCapacity}},
      {Injection::kForeignCopies, "foreign copies", Stage::kCopy, {Bound::kContended}},
      {Injection::kStep, "step", Stage::kConsumer, {Bound::kConsumer}},
      {Injection::kDeviceStep, "step on the device", Stage::kConsumer, {Bound::kConsumer}},
      {Injection::kNoDevice, "step without a device", Stage::kConsumer, {Bound::kConsumer}},
      {Injection::kFewSlots, "decode, few slots", Stage::kDecode, {}},
      {Injection::kTailReads, "1 % of reads x20", Stage::kIo, {Bound::kLatency}},
  };
  return knobs;
}

const Knob& KnobOf(Injection injection) { return *std::ranges::find(Knobs(), injection, &Knob::injection); }

Experiment Slowed(Injection injection, double factor, double bar) {
  const Knob& knob = KnobOf(injection);
  return {.name = knob.name,
          .injection = injection,
          .factor = factor,
          .truth = Truth::kInjected,
          .stage = knob.stage,
          .bounds = knob.bounds,
          .bar = bar};
}

Experiment Wide(Injection injection, double factor) {
  return {.name = KnobOf(injection).name,
          .injection = injection,
          .factor = factor,
          .spread = Spread::kWide,
          .truth = Truth::kElasticity,
          .stage = Stage::kOther,
          .bounds = {},
          .bar = 0.95};
}

using Loads = std::array<double, kServedStages>;  // shares of a period, indexed by Stage

Loads DrawLoads(const Experiment& experiment, Random& random) {
  Loads loads;
  if (experiment.injection == Injection::kNothing) {
    for (double& load : loads) load = random.Uniform(1 - kBalanced / 2, 1 + kBalanced / 2);
    return loads;
  }
  const auto slowed = static_cast<size_t>(KnobOf(experiment.injection).stage);
  if (experiment.injection == Injection::kTailReads) {
    loads.fill(kIdleLoad);
    loads[slowed] = kTailLoad;
    return loads;
  }
  for (double& load : loads) load = random.Uniform(kLowLoad, kHighLoad);
  loads[slowed] = 0;
  loads[slowed] = experiment.factor * *std::ranges::max_element(loads);
  return loads;
}

void TurnKnob(const Experiment& experiment, TrialConfig& config) {
  switch (experiment.injection) {
    case Injection::kStorageBandwidth:
      config.bandwidth = {config.read.mean_ns / config.queue_depth, Spread::kEven};
      config.read = {};
      break;
    case Injection::kBusyNeighbour:
      config.off_cpu = kNeighboursShare;
      break;
    case Injection::kCopyLatency:
      config.copy_waits = true;
      break;
    case Injection::kForeignCopies:
      config.copy_ns /= 2;
      config.foreign_copies_ns = config.copy_ns;
      break;
    case Injection::kDeviceStep:
      config.step_on_device = true;
      // Until every slot waits for the device, which falls behind by the difference of a step.
      config.warm_up += static_cast<int64_t>(std::ceil((2 * config.prefetch_factor + 3) / (experiment.factor - 1)));
      break;
    case Injection::kNoDevice:
      config.copy_ns = 0;
      break;
    case Injection::kFewSlots:
      config.prefetch_factor = 1;
      break;
    default:
      break;
  }
}

}  // namespace

std::vector<Experiment> AllExperiments() {
  std::vector<Experiment> all;
  for (const double factor : {2.0, 1.3, 1.1}) {
    for (const Knob& knob : Knobs()) {
      if (knob.injection == Injection::kFewSlots || knob.injection == Injection::kTailReads) continue;
      all.push_back(Slowed(knob.injection, factor, factor > 1.1 ? 1 : 0.95));
    }
  }
  all.push_back({.name = "nothing",
                 .injection = Injection::kNothing,
                 .truth = Truth::kMixed,
                 .stage = Stage::kOther,
                 .bounds = {Bound::kMixed},
                 .bar = 0.9});
  for (const double factor : {2.0, 1.3, 1.1}) {
    for (const Injection injection : {Injection::kReadLatency, Injection::kDecodeWork, Injection::kStep}) {
      all.push_back(Wide(injection, factor));
    }
  }
  all.push_back(Wide(Injection::kFewSlots, 1.1));
  all.push_back(Slowed(Injection::kTailReads, 1, 0.95));
  all.back().spread = Spread::kTails;
  return all;
}

std::string_view ClassOf(const Experiment& experiment) {
  switch (experiment.truth) {
    case Truth::kMixed:
      return "all stages within 2 %";
    case Truth::kElasticity:
      return "wide times, by measured elasticity";
    case Truth::kInjected:
      break;
  }
  if (experiment.injection == Injection::kFiles) return "real files";
  if (experiment.spread == Spread::kTails) return "slow reads among fast ones";
  if (experiment.factor > 1.5) return "even times, slowed 2 times";
  return experiment.factor > 1.2 ? "even times, slowed 1.3 times" : "even times, slowed 1.1 times";
}

TrialConfig MakeTrial(const Experiment& experiment, uint64_t seed, const TrialScale& scale) {
  Random random({seed, static_cast<uint64_t>(experiment.injection), static_cast<uint64_t>(experiment.factor * 1000)},
                static_cast<uint32_t>(experiment.spread));
  TrialConfig config;
  config.seed = random.Next();
  config.batch_size = scale.batch_size;
  config.batches = scale.batches;
  config.workers = scale.workers[random.Below(static_cast<uint32_t>(scale.workers.size()))];
  config.queue_depth = 4 << random.Below(2);
  config.prefetch_factor = 2 + static_cast<int32_t>(random.Below(3));
  if (experiment.spread == Spread::kTails) config.queue_depth = kTailQueueDepth;
  // What elasticity measures is the end of everything since the first batch was asked for.
  if (experiment.truth == Truth::kElasticity) config.warm_up = 0;
  if (experiment.spread != Spread::kEven) {
    config.batch_size *= kUnevenBatchFactor;
    config.batches *= kUnevenBatchesFactor;
  }

  const Loads loads = DrawLoads(experiment, random);
  const auto ns = [&](Stage stage, double servers) {
    return loads[static_cast<size_t>(stage)] * scale.period_ns * servers;
  };
  const Spread others = experiment.spread == Spread::kTails ? Spread::kEven : experiment.spread;
  config.read = {ns(Stage::kIo, config.queue_depth) / config.batch_size, experiment.spread};
  config.decode = {ns(Stage::kDecode, config.workers) / config.batch_size, others};
  config.copy_ns = ns(Stage::kCopy, 1);
  config.step = {ns(Stage::kConsumer, 1), Spread::kEven};
  TurnKnob(experiment, config);
  return config;
}

std::string_view NamedBy(const StallReport& report) {
  return report.bound == Bound::kMixed ? kMixedName : kStageNames[static_cast<size_t>(report.leader)];
}

namespace {

// What a mixed verdict names.
std::array<Stage, 2> TopTwo(const StallReport& report) {
  std::array<Stage, kStages> stages;
  for (size_t i = 0; i < kStages; ++i) stages[i] = static_cast<Stage>(i);
  std::ranges::sort(stages, std::greater(), [&](Stage stage) { return report.shares[static_cast<size_t>(stage)]; });
  return {stages[0], stages[1]};
}

}  // namespace

bool IsRight(const Experiment& experiment, const StallReport& report, Stage measured) {
  switch (experiment.truth) {
    case Truth::kMixed:
      return report.bound == Bound::kMixed;
    case Truth::kElasticity:
      if (report.bound == Bound::kMixed) return std::ranges::count(TopTwo(report), measured) > 0;
      return report.leader == measured;
    case Truth::kInjected:
      break;
  }
  return report.leader == experiment.stage && std::ranges::count(experiment.bounds, report.bound) > 0;
}

std::array<double, kServedStages> MeasuredGains(const TrialConfig& config, const StallReport& base, double faster,
                                                const RunOnce& run) {
  std::array<double, kServedStages> gains = {};
  for (size_t stage = 0; stage < kServedStages; ++stage) {
    TrialConfig changed = config;
    changed.speed[stage] *= 1 + faster;
    gains[stage] = base.seconds / run(changed).report.seconds - 1;
  }
  return gains;
}

}  // namespace stoker
