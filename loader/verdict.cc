#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "loader/stall_report.h"

namespace stoker {
namespace {

constexpr double kNotBound = 0.05;
constexpr double kHighlyBound = 0.20;
// From here on a stage is busy enough that it is its capacity that limits, not the order or delay of its work.
constexpr double kCapacityBusy = 0.8;
// The caller's own step leads from here on: the loader keeps up.
constexpr double kConsumerLeads = 0.9;
// Two full stages this close to each other take turns in holding the path back.
constexpr double kFullBusy = 0.9;
constexpr double kNearlyAsFull = 0.975;
// Below this the workers are held back by who else wants their CPUs, not by slow code.
constexpr double kStarvedOnCpu = 0.8;
// Reads are out of the page cache.
constexpr double kAllCached = 0.95;
// Of the copies' time, what the link's other users may take before they are named.
constexpr double kContendedCopies = 1.0 / 3;

double ShareOf(const StallReport& report, Stage stage) { return report.shares[static_cast<size_t>(stage)]; }
double PartOf(const StallReport& report, Part part) { return report.parts[static_cast<size_t>(part)]; }
double BusyOf(const StallReport& report, Stage stage) {
  return static_cast<size_t>(stage) < kServedStages ? report.busy[static_cast<size_t>(stage)] : 0;
}

Stage LargestBut(const StallReport& report, Stage but) {
  auto largest = Stage::kOther;
  for (const Stage stage : {Stage::kIo, Stage::kDecode, Stage::kCopy, Stage::kConsumer, Stage::kRuntime}) {
    if (stage != but && ShareOf(report, stage) > ShareOf(report, largest)) largest = stage;
  }
  return largest;
}

// The stage that could change places with the leader in another run like this one, if there is one: the second, where
// their intervals overlap; any that is as full as a full leader, though it may have no share at all: of equal stages
// one holds the path for as long as chance lets it.
std::optional<Stage> RivalOf(const StallReport& report, Stage leader, Stage second) {
  const auto first = static_cast<size_t>(leader), next = static_cast<size_t>(second);
  const double margin = report.margins[first] + report.margins[next];
  if (margin > 0 && report.shares[first] - report.shares[next] <= margin) return second;
  const double busy = BusyOf(report, leader);
  if (busy < kFullBusy) return std::nullopt;
  std::optional<Stage> rival;
  for (const Stage stage : {Stage::kIo, Stage::kDecode, Stage::kCopy, Stage::kConsumer}) {
    const double full = rival ? BusyOf(report, *rival) : kNearlyAsFull * busy;
    if (stage != leader && BusyOf(report, stage) >= full) rival = stage;
  }
  return rival;
}

Bound BoundOf(const StallReport& report) {
  const double busy = BusyOf(report, report.leader);
  switch (report.leader) {
    case Stage::kOther:
      return Bound::kUnknown;
    case Stage::kRuntime:
      return Bound::kHandOver;
    default:
      break;
  }
  if (report.leader == Stage::kConsumer) return Bound::kConsumer;
  if (report.leader == Stage::kDecode && report.on_cpu_share && *report.on_cpu_share < kStarvedOnCpu) {
    return Bound::kStarved;
  }
  if (report.leader == Stage::kIo && report.cached_share >= kAllCached) return Bound::kPageCache;
  if (report.leader == Stage::kCopy &&
      PartOf(report, Part::kForeignCopies) > kContendedCopies * ShareOf(report, Stage::kCopy)) {
    return Bound::kContended;
  }
  const bool busiest = busy >= *std::ranges::max_element(report.busy);
  return busiest && busy >= kCapacityBusy ? Bound::kCapacity : Bound::kLatency;
}

struct Words {
  std::string verdict;
  std::string advice;
};

Words ReadWords(const StallReport& report, double share) {
  if (report.bound == Bound::kPageCache) {
    return {fmt::format("bound by opening and copying cached files: it takes {:.0f} % of the path", share),
            "Storage is not the limit: smaller files help, or fewer of them in one place."};
  }
  if (report.bound == Bound::kCapacity) {
    return {
        fmt::format("I/O-bound: reads take {:.0f} % of the path and queue_depth of them are always under way", share),
        "Raise queue_depth; if the rate stays, the storage is full: move the data to a faster one, or keep it in "
        "the page cache."};
  }
  return {fmt::format("I/O-bound by delay: reads take {:.0f} % of the path, but only {:.0f} % of queue_depth are under "
                      "way: batches wait for slow ones",
                      share, 100 * BusyOf(report, Stage::kIo)),
          "Raise prefetch_factor and queue_depth, so that more is read ahead and a slow read stops no batch."};
}

Words DecodeWords(const StallReport& report, double share) {
  if (report.bound == Bound::kStarved) {
    return {fmt::format("CPU-starved: decoding takes {:.0f} % of the path, and its threads are on a CPU for only "
                        "{:.0f} % of it",
                        share, 100 * *report.on_cpu_share),
            "The CPUs are shared with something else, or a quota cuts them: fewer workers, or more CPUs for this "
            "process."};
  }
  if (report.bound == Bound::kCapacity) {
    return {fmt::format("CPU-bound: decoding and augmenting take {:.0f} % of the path and the workers are full", share),
            "More or faster cores help (num_workers), or smaller pictures on disk, or decode=fast for large ones."};
  }
  return {fmt::format("decode holds the path for {:.0f} %, but the workers are not full: order or delay", share),
          "Raise prefetch_factor so that a slow picture does not stop its batch."};
}

Words CopyWords(const StallReport& report, double share) {
  if (report.bound == Bound::kContended) {
    return {fmt::format("copy-bound: the transfer to the device takes {:.0f} % of the path, {:.0f} % behind others on "
                        "the link",
                        share, 100 * PartOf(report, Part::kForeignCopies)),
            "Something else copies over the same link (offloading, another process), or the memory is on the wrong "
            "NUMA node: see stoker doctor."};
  }
  return {fmt::format("copy-bound: the transfer to the device takes {:.0f} % of the path", share),
          "Send uint8 and normalise on the device, and check that the memory is pinned and the link is wide."};
}

Words ConsumerWords(const StallReport& report, double share) {
  if (share >= 100 * kConsumerLeads || report.stall_share < kNotBound) {
    return {fmt::format("consumer-bound: the training step takes {:.0f} % of the path, the loader keeps up", share),
            "Leave the loader alone; make the step faster, or give the loader fewer workers."};
  }
  return {fmt::format("the training step leads with {:.0f} % of the path, the rest is waiting for data", share),
          "A faster loader would gain at most the stall share."};
}

Words WordsFor(const StallReport& report, Stage rival) {
  const double share = 100 * ShareOf(report, report.leader);
  if (report.bound == Bound::kMixed) {
    const auto first = static_cast<size_t>(report.leader), next = static_cast<size_t>(rival);
    return {fmt::format("mixed: {} {:.0f} +/- {:.0f} % of the path, {} {:.0f} +/- {:.0f} %", kStageNames[first], share,
                        100 * report.margins[first], kStageNames[next], 100 * report.shares[next],
                        100 * report.margins[next]),
            "Both have to become faster: the ceilings tell how far each alone would get."};
  }
  switch (report.leader) {
    case Stage::kConsumer:
      return ConsumerWords(report, share);
    case Stage::kDecode:
      return DecodeWords(report, share);
    case Stage::kIo:
      return ReadWords(report, share);
    case Stage::kCopy:
      return CopyWords(report, share);
    case Stage::kRuntime:
      return {
          fmt::format("the loader's own hand-overs take {:.0f} % of the path", share),
          "The machine is busy with something else, or batches are very small: raise batch_size or free some cores."};
    case Stage::kOther:
      break;
  }
  if (report.batches > 0) {
    return {
        fmt::format("{:.0f} % of the time a batch is waited for that is not there yet, so that nobody knows for what",
                    share),
        "See with stoker top whether it comes; a read that hangs is given up after read_deadline."};
  }
  return {"too short to tell: start-up dominates", "Run longer (more epochs or pictures)."};
}

}  // namespace

const char* StallWords(double stall_share) noexcept {
  if (stall_share < kNotBound) return "not loader-bound";
  return stall_share < kHighlyBound ? "moderately loader-bound" : "highly loader-bound";
}

void Conclude(StallReport& report) {
  const auto largest = std::ranges::max_element(report.shares) - report.shares.begin();
  report.leader = static_cast<Stage>(largest);
  const std::optional<Stage> rival = RivalOf(report, report.leader, LargestBut(report, report.leader));
  report.bound = rival && report.leader != Stage::kOther ? Bound::kMixed : BoundOf(report);
  Words words = WordsFor(report, rival.value_or(Stage::kOther));
  report.verdict = fmt::format("{}; {}", StallWords(report.stall_share), words.verdict);
  report.advice = std::move(words.advice);
}

}  // namespace stoker
