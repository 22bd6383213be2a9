#include "loader/tuning/race.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

namespace stoker {
namespace {

// Quantiles of Student's t for two-sided 95 %, by degrees of freedom from 1; NIST/SEMATECH e-Handbook 1.3.6.7.2.
constexpr std::array<double, 30> kStudent = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                                             2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
                                             2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};

}  // namespace

Interval MeanOf(const std::vector<double>& values) {
  assert(!values.empty());
  const auto count = static_cast<double>(values.size());
  double sum = 0, squares = 0;
  for (const double value : values) sum += value;
  const double mean = sum / count;
  for (const double value : values) squares += (value - mean) * (value - mean);
  Interval interval = {mean, std::nullopt, static_cast<int32_t>(values.size())};
  if (values.size() < 2) return interval;
  const double student = kStudent[std::min(values.size() - 2, kStudent.size() - 1)];
  interval.margin = student * std::sqrt(squares / (count - 1) / count);
  return interval;
}

Race::Race(const std::vector<Setting>& settings, Limits limits, int32_t first_round)
    : limits_(limits), first_round_(first_round), round_(first_round) {
  for (const Setting& setting : settings) {
    running_.push_back(lanes_.size());
    lanes_.push_back({.setting = setting});
  }
  PlanRound();
}

void Race::PlanRound() {
  todo_ = running_;
  if ((round_ - first_round_) % 2 == 0) std::ranges::reverse(todo_);
}

std::optional<Setting> Race::Next() const {
  if (todo_.empty()) return std::nullopt;
  return lanes_[todo_.back()].setting;
}

void Race::Add(const Measurement& measurement) {
  assert(!todo_.empty());
  Lane& lane = lanes_[todo_.back()];
  todo_.pop_back();
  if (measurement.error.empty()) {
    lane.rates.push_back(measurement.images_per_second);
    lane.rounds.push_back(round_);
  } else {
    lane.failed = true;
    std::erase(running_, static_cast<size_t>(&lane - lanes_.data()));
  }
  if (todo_.empty()) EndRound();
}

void Race::EndRound() {
  const Lane* const leader = best();
  bool open = false;
  if (leader != nullptr) {
    for (Lane& lane : lanes_) {
      std::vector<double> ratios;
      for (size_t i = 0; i < lane.rounds.size(); ++i) {
        const auto same = std::ranges::find(leader->rounds, lane.rounds[i]);
        if (same == leader->rounds.end()) continue;
        const double other = leader->rates[static_cast<size_t>(same - leader->rounds.begin())];
        if (other > 0) ratios.push_back(lane.rates[i] / other);
      }
      lane.against = ratios.empty() ? std::nullopt : std::optional(MeanOf(ratios));
    }
    const int32_t done = round_ + 1 - first_round_;
    if (done >= limits_.least_rounds) {
      std::erase_if(running_, [&](size_t index) { return StandingOf(lanes_[index]) == Standing::kWorse; });
    }
    for (const size_t index : running_) open = open || StandingOf(lanes_[index]) == Standing::kOpen;
    open = open || done < limits_.least_rounds;
    if (done >= limits_.most_rounds) open = false;
  }
  if (!open) return;
  ++round_;
  PlanRound();
}

Race::Standing Race::StandingOf(const Lane& lane) const {
  if (&lane == best()) return Standing::kEqual;
  if (!lane.against || !lane.against->margin) return Standing::kOpen;
  const double low = lane.against->mean - *lane.against->margin, high = lane.against->mean + *lane.against->margin;
  if (high < 1 - kAsGood) return Standing::kWorse;
  return low >= 1 - kAsGood ? Standing::kEqual : Standing::kOpen;
}

int32_t Race::runs_left() const {
  if (todo_.empty()) return 0;
  const int32_t rounds = limits_.most_rounds - (round_ + 1 - first_round_);
  return static_cast<int32_t>(todo_.size()) + rounds * static_cast<int32_t>(running_.size());
}

const Lane* Race::best() const {
  const Lane* best = nullptr;
  for (const Lane& lane : lanes_) {
    if (lane.failed || lane.rates.empty()) continue;
    if (best == nullptr || lane.rate().mean > best->rate().mean) best = &lane;
  }
  return best;
}

const Lane* Race::knee() const {
  const Lane* const leader = best();
  const Lane* knee = leader;
  for (const Lane& lane : lanes_) {
    if (lane.failed || !lane.against || lane.against->mean < 1 - kAsGood) continue;
    if (CompareCost(lane.setting, knee->setting) < 0) knee = &lane;
  }
  return knee;
}

}  // namespace stoker
