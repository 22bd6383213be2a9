#include "loader/stall_report.h"

#include <fmt/format.h>

#include <algorithm>

namespace stoker {
namespace {

constexpr double kNotBound = 0.05;
constexpr double kHighlyBound = 0.20;
// From here on a stage is busy enough that it is its capacity that limits, not the order or delay of its work.
constexpr double kCapacityBusy = 0.8;
// The caller's own step leads from here on: the loader keeps up.
constexpr double kConsumerLeads = 0.9;
constexpr double kNsPerSecond = 1e9;
constexpr double kNsPerMs = 1e6;

double Ceiling(double servers, int64_t items, int64_t busy_ns) {
  return busy_ns > 0 ? servers * static_cast<double>(items) * kNsPerSecond / static_cast<double>(busy_ns) : 0;
}

Stage LeadingStage(const StallReport& report) {
  const auto leader = std::max_element(report.shares.begin(), report.shares.end());
  return static_cast<Stage>(leader - report.shares.begin());
}

double Busy(double rate, double ceiling) { return ceiling > 0 ? rate / ceiling : 0; }

struct Finding {
  std::string verdict;
  std::string advice;
};

Finding FindingFor(Stage stage, const StallReport& report) {
  const double share = 100 * report.shares[static_cast<size_t>(stage)];
  switch (stage) {
    case Stage::kConsumer:
      return {fmt::format("consumer-bound: the training step takes {:.0f} % of the path, the loader keeps up", share),
              "Leave the loader alone; make the step faster, or give the loader fewer workers."};
    case Stage::kDecode:
      if (Busy(report.images_per_second, report.decode_ceiling) >= kCapacityBusy) {
        return {
            fmt::format("CPU-bound: decoding and augmenting take {:.0f} % of the path and the workers are full", share),
            "More or faster cores help (num_workers), or smaller pictures on disk, or decode=fast for large ones."};
      }
      return {fmt::format("decode holds the path for {:.0f} %, but the workers are not full: order or delay", share),
              "Raise prefetch_factor so that a slow picture does not stop its batch."};
    case Stage::kIo:
      return {fmt::format("I/O-bound: reads take {:.0f} % of the path", share),
              "Raise queue_depth, move the data to faster storage, or keep it in the page cache."};
    case Stage::kCopy:
      return {fmt::format("copy-bound: the transfer to the device takes {:.0f} % of the path", share),
              "Send uint8 and normalise on the device, and check that the memory is pinned and the link is wide."};
    case Stage::kRuntime:
      return {
          fmt::format("the loader's own hand-overs take {:.0f} % of the path", share),
          "The machine is busy with something else, or batches are very small: raise batch_size or free some cores."};
    case Stage::kOther:
      break;
  }
  return {"too short to tell: start-up dominates", "Run longer (more epochs or pictures)."};
}

}  // namespace

const char* StallWords(double stall_share) noexcept {
  if (stall_share < kNotBound) return "not loader-bound";
  return stall_share < kHighlyBound ? "moderately loader-bound" : "highly loader-bound";
}

void Judge(const StallTotals& totals, const StageServers& servers, StallReport& report) {
  report.seconds = static_cast<double>(totals.wall_ns) / kNsPerSecond;
  report.samples = totals.samples;
  report.batches = totals.batches;
  report.bytes_read = totals.bytes;
  if (totals.wall_ns == 0) {
    report.verdict = kCountersOn ? "nothing was loaded" : "no verdict: the counters are compiled out";
    return;
  }
  const auto wall = static_cast<double>(totals.wall_ns);
  report.images_per_second = static_cast<double>(totals.samples) * kNsPerSecond / wall;
  report.device_stall_share = static_cast<double>(totals.device_stall_ns) / wall;
  // A wait that the device made up for is known only later, so that a report may be a little ahead of it.
  report.stall_share = std::clamp(static_cast<double>(totals.stall_ns) / wall + report.device_stall_share, 0.0, 1.0);
  for (size_t i = 0; i < kStages; ++i) report.shares[i] = static_cast<double>(totals.blame_ns[i]) / wall;
  report.io_ceiling = Ceiling(servers.readers, totals.samples, totals.read_ns);
  report.decode_ceiling = Ceiling(servers.workers, totals.samples, totals.decode_ns + totals.augment_ns);
  report.copy_ceiling = Ceiling(1, totals.samples, totals.copy_ns);
  report.consumer_ceiling = Ceiling(1, totals.samples, totals.consumer_ns);
  if (totals.samples > 0) {
    const double scale = 1 / (kNsPerMs * static_cast<double>(totals.samples));
    report.read_ms = static_cast<double>(totals.read_ns) * scale;
    report.decode_ms = static_cast<double>(totals.decode_ns) * scale;
    report.augment_ms = static_cast<double>(totals.augment_ns) * scale;
    report.cached_share = static_cast<double>(totals.cached_reads) / static_cast<double>(totals.samples);
  }
  const Stage leader = LeadingStage(report);
  Finding finding = FindingFor(leader, report);
  const double leading_share = report.shares[static_cast<size_t>(leader)];
  if (leader == Stage::kConsumer && leading_share < kConsumerLeads && report.stall_share >= kNotBound) {
    finding.verdict = fmt::format("the training step leads with {:.0f} % of the path, the rest is waiting for data",
                                  100 * leading_share);
    finding.advice = "A faster loader would gain at most the stall share.";
  }
  report.verdict = fmt::format("{}; {}", StallWords(report.stall_share), finding.verdict);
  report.advice = std::move(finding.advice);
}

}  // namespace stoker
