#include "loader/tuning/model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <initializer_list>

#include "loader/tuning/race.h"

namespace stoker {
namespace {

constexpr auto kDecodeIndex = static_cast<size_t>(Stage::kDecode);

// A worker's seconds a sample, with all that workers do for it (they read what is cached, too): how much of them the
// rate took. Where that is not known, what the report's ceiling, or at least the rate itself, allows.
double WorkerSeconds(const Measurement& run) {
  const double workers = run.setting.num_workers, busy = run.busy[kDecodeIndex];
  if (busy > 0 && run.images_per_second > 0) return workers * busy / run.images_per_second;
  const double ceiling = std::max(run.ceilings[kDecodeIndex], run.images_per_second);
  return ceiling > 0 ? workers / ceiling : 0;
}

double OtherCeiling(const Measurement& run) {
  double lowest = 0;
  for (const Stage stage : {Stage::kIo, Stage::kCopy, Stage::kConsumer}) {
    const double ceiling = run.ceilings[static_cast<size_t>(stage)];
    if (ceiling > 0 && (lowest == 0 || ceiling < lowest)) lowest = ceiling;
  }
  return lowest;
}

}  // namespace

RateModel::RateModel(const Measurement& few, const Measurement& many, int32_t cpus)
    : few_workers_(few.setting.num_workers),
      many_workers_(many.setting.num_workers),
      cpus_(std::max(cpus, 1)),
      few_seconds_(WorkerSeconds(few)),
      many_seconds_(WorkerSeconds(many)),
      others_(OtherCeiling(many)) {}

double RateModel::DecodeCeiling(int32_t workers) const {
  double seconds = many_seconds_;
  if (many_workers_ != few_workers_) {
    const double within = std::min<double>(workers, std::max(many_workers_, few_workers_));
    seconds = few_seconds_ + (many_seconds_ - few_seconds_) * (within - few_workers_) / (many_workers_ - few_workers_);
  }
  const double running = std::min<double>(workers, std::max(cpus_, many_workers_));
  return seconds > 0 ? running / seconds : 0;
}

double RateModel::Rate(int32_t workers) const {
  const double decode = DecodeCeiling(workers);
  if (decode <= 0) return others_;
  return others_ > 0 ? std::min(decode, others_) : decode;
}

int32_t RateModel::Knee(int32_t most) const {
  double highest = 0;
  for (int32_t workers = 1; workers <= most; ++workers) highest = std::max(highest, Rate(workers));
  int32_t knee = 1;
  while (knee < most && Rate(knee) < (1 - kAsGood) * highest) ++knee;
  return knee;
}

std::vector<int32_t> WorkersAround(int32_t knee, int32_t most) {
  std::vector<int32_t> around;
  for (const double factor : {0.5, 0.75, 1.0, 1.25, 1.5}) {
    const auto workers = static_cast<int32_t>(std::lround(factor * knee));
    around.push_back(std::clamp(workers, int32_t{1}, std::max(most, int32_t{1})));
  }
  around.erase(std::unique(around.begin(), around.end()), around.end());
  return around;
}

bool PrefetchMatters(const Measurement& run) {
  // What a stage that is always busy would gain from batches further ahead: nothing.
  const double fullest = *std::ranges::max_element(run.busy);
  return run.stall_share > kAsGood && fullest < 1 - kAsGood;
}

bool ReadingMatters(const Measurement& run) {
  // What the page cache answers, no depth makes faster.
  constexpr double kAllCached = 0.95;
  return run.cached_share < kAllCached && run.shares[static_cast<size_t>(Stage::kIo)] > kAsGood;
}

int32_t DepthFor(const Measurement& run) {
  constexpr double kLeast = 4, kMost = 256;
  const double under_way = run.images_per_second * run.read_ms * 1e-3;
  const double depth = std::clamp(std::isfinite(under_way) ? under_way : kLeast, kLeast, kMost);
  return static_cast<int32_t>(std::bit_ceil(static_cast<uint32_t>(std::ceil(depth))));
}

}  // namespace stoker
