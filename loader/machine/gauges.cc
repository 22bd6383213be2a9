#include "loader/machine/gauges.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>

#include "loader/machine/kernel_text.h"
#include "loader/machine/limits.h"
#include "loader/machine/process_tree.h"

namespace stoker {
namespace {

constexpr size_t kFileBytes = 4096;  // of the kernel's files that are read here none is longer
constexpr int64_t kBytesPerKb = 1024;
constexpr int64_t kNsPerUs = 1000;
constexpr double kNsPerSecond = 1e9;
constexpr double kUsPerSecond = 1e6;

using Buffer = std::array<char, kFileBytes>;

std::optional<int64_t> KilobytesBehind(std::string_view text, std::string_view key) {
  const auto kb = NumberBehind(text, key);
  if (!kb || *kb > std::numeric_limits<int64_t>::max() / kBytesPerKb) return std::nullopt;
  return *kb * kBytesPerKb;
}

// "some avg10=0.06 avg60=0.11 avg300=0.09 total=10961430237"
std::optional<int64_t> TotalOf(std::string_view text, std::string_view line) {
  for (size_t start = 0; start < text.size();) {
    const std::string_view rest = text.substr(start, text.find('\n', start) - start);
    start += rest.size() + 1;
    constexpr std::string_view kKey = " total=";
    const size_t key = rest.find(kKey);
    if (!rest.starts_with(line) || key == std::string_view::npos) continue;
    std::string_view number = rest.substr(key + kKey.size());
    return TakeNumber(number);
  }
  return std::nullopt;
}

Pressure ReadPressure(const KernelFolder& folder, const char* name, Buffer& buffer) {
  const std::string_view text = folder.Read(name, buffer);
  return {TotalOf(text, "some "), TotalOf(text, "full ")};
}

void ReadOwn(const std::string& root, Buffer& buffer, MachineGauges& gauges) {
  const KernelFolder self(root + "/proc/self");
  std::string_view text = self.Read("status", buffer);
  gauges.rss_bytes = KilobytesBehind(text, "VmRSS:");
  gauges.anonymous_bytes = KilobytesBehind(text, "RssAnon:");
  gauges.shared_bytes = KilobytesBehind(text, "RssShmem:");
  if (const auto threads = NumberBehind(text, "Threads:"); threads && *threads < std::numeric_limits<int32_t>::max()) {
    gauges.thread_count = static_cast<int32_t>(*threads);
  }
  text = self.Read("io", buffer);
  gauges.storage_read_bytes = NumberBehind(text, "read_bytes:");
  gauges.read_call_bytes = NumberBehind(text, "rchar:");
  const ProcessCpu cpu = ReadProcessCpu(root, root == "/" && !HasChildren());
  gauges.cpu_seconds = cpu.own_seconds;
  gauges.tree_cpu_seconds = cpu.tree_seconds;
}

// /proc/self/schedstat is the main thread's alone.
void ReadThreads(const std::string& root, Buffer& buffer, MachineGauges& gauges) {
  KernelFolder tasks(root + "/proc/self/task");
  gauges.threads.reserve(static_cast<size_t>(std::clamp(gauges.thread_count.value_or(0), 0, 4096)));
  while (const int32_t id = tasks.NextNumber()) {
    char name[32];
    (void)std::snprintf(name, sizeof name, "%d/schedstat", id);
    std::string_view text = tasks.Read(name, buffer);
    const auto ran = TakeNumber(text);
    const auto waited = TakeNumber(text);
    if (ran && waited) gauges.threads.push_back({id, *ran, *waited});
  }
}

void ReadGroup(const std::string& root, Buffer& buffer, MachineGauges& gauges) {
  if (const std::string folder = OwnCgroupFolder(root, ""); !folder.empty()) {
    const KernelFolder group(folder);
    gauges.group = {ReadPressure(group, "cpu.pressure", buffer), ReadPressure(group, "io.pressure", buffer),
                    ReadPressure(group, "memory.pressure", buffer)};
    gauges.throttled_us = NumberBehind(group.Read("cpu.stat", buffer), "throttled_usec");
  }
  if (gauges.throttled_us) return;
  const std::string folder = OwnCgroupFolder(root, "cpu");
  if (folder.empty()) return;
  if (const auto ns = NumberBehind(KernelFolder(folder).Read("cpu.stat", buffer), "throttled_time")) {
    gauges.throttled_us = *ns / kNsPerUs;
  }
}

template <typename Value>
std::optional<double> Growth(const std::optional<Value>& before, const std::optional<Value>& after) {
  if (!before || !after || *after < *before) return std::nullopt;
  return static_cast<double>(*after) - static_cast<double>(*before);
}

std::optional<double> Over(std::optional<double> amount, std::optional<double> seconds) {
  if (!amount || !seconds) return std::nullopt;
  return *amount / *seconds;
}

// A share of time may come out a little above 1: the counter is read a moment after the clock.
std::optional<double> ShareOver(std::optional<double> us, std::optional<double> seconds) {
  const auto share = Over(us, seconds);
  return share ? std::optional(std::min(*share / kUsPerSecond, 1.0)) : std::nullopt;
}

// Of threads that ended, nothing is known; of those that began, all is since.
std::optional<double> RunQueueShare(const std::vector<ThreadTimes>& before, const std::vector<ThreadTimes>& after) {
  if (before.empty()) return std::nullopt;
  std::vector<ThreadTimes> known = before;
  std::ranges::sort(known, {}, &ThreadTimes::id);
  double ran = 0, waited = 0;
  for (const ThreadTimes& now : after) {
    const auto then = std::ranges::lower_bound(known, now.id, {}, &ThreadTimes::id);
    const bool same = then != known.end() && then->id == now.id;
    // Another thread may have the number by now: its counters are then lower.
    const bool grew = same && now.ran_ns >= then->ran_ns && now.waited_ns >= then->waited_ns;
    ran += static_cast<double>(now.ran_ns) - (grew ? static_cast<double>(then->ran_ns) : 0);
    waited += static_cast<double>(now.waited_ns) - (grew ? static_cast<double>(then->waited_ns) : 0);
  }
  if (ran + waited <= 0) return std::nullopt;
  return waited / (ran + waited);
}

}  // namespace

MachineGauges ReadGauges(const std::string& root, int64_t at_ns) {
  MachineGauges gauges;
  gauges.at_ns = at_ns;
  Buffer buffer;
  ReadOwn(root, buffer, gauges);
  ReadThreads(root, buffer, gauges);
  const KernelFolder pressure(root + "/proc/pressure");
  gauges.machine = {ReadPressure(pressure, "cpu", buffer), ReadPressure(pressure, "io", buffer),
                    ReadPressure(pressure, "memory", buffer)};
  ReadGroup(root, buffer, gauges);
  return gauges;
}

GaugeRates RatesBetween(const MachineGauges& before, const MachineGauges& after, std::optional<int64_t> read_bytes) {
  GaugeRates rates;
  if (after.at_ns > before.at_ns) {
    rates.seconds = (static_cast<double>(after.at_ns) - static_cast<double>(before.at_ns)) / kNsPerSecond;
  }
  rates.cpu_cores = Over(Growth(before.cpu_seconds, after.cpu_seconds), rates.seconds);
  rates.tree_cpu_cores = Over(Growth(before.tree_cpu_seconds, after.tree_cpu_seconds), rates.seconds);
  rates.run_queue_share = RunQueueShare(before.threads, after.threads);
  rates.throttled_share = ShareOver(Growth(before.throttled_us, after.throttled_us), rates.seconds);
  const auto pressure = [&](Pressure Pressures::*kind) {
    const auto group = Growth((before.group.*kind).some_us, (after.group.*kind).some_us);
    return ShareOver(group ? group : Growth((before.machine.*kind).some_us, (after.machine.*kind).some_us),
                     rates.seconds);
  };
  rates.cpu_pressure = pressure(&Pressures::cpu);
  rates.io_pressure = pressure(&Pressures::io);
  rates.memory_pressure = pressure(&Pressures::memory);
  const auto stored = Growth(before.storage_read_bytes, after.storage_read_bytes);
  const auto read = read_bytes ? std::optional(static_cast<double>(*read_bytes))
                               : Growth(before.read_call_bytes, after.read_call_bytes);
  if (stored && read && *read > 0) rates.cache_hit_share = std::clamp(1 - *stored / *read, 0.0, 1.0);
  return rates;
}

}  // namespace stoker
