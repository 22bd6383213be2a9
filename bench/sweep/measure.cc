#include "bench/sweep/measure.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <thread>

#include "bench/run_report.h"
#include "bench/steady_seconds.h"
#include "bench/sweep/busy_cpus.h"
#include "bench/sweep/run_json.h"
#include "loader/loader.h"

namespace stoker {
namespace {

// A measured part has at least so many batches, however slow they are.
constexpr int64_t kFewestBatches = 8;
// What a run may take beyond the seconds that it was told: its start, its slowest batches.
constexpr double kPatienceSeconds = 120;

// Takes batches as a trainer would.
class Caller {
 public:
  Caller(Loader& loader, const RunPlan& plan) : loader_(loader), plan_(plan) {}

  // One batch; false at the end of an epoch.
  bool Step() {
    const std::optional<Batch> batch = loader_.Next();
    if (!batch) return false;
    if (plan_.step_ms > 0) std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(plan_.step_ms));
    return true;
  }
  // Until both are over, or the epoch where there is to be one pass.
  void StepsFor(double seconds, int64_t batches) {
    const double end = SteadySeconds() + seconds;
    for (int64_t taken = 0; taken < batches || SteadySeconds() < end;) {
      if (Step()) {
        ++taken;
      } else if (plan_.one_pass) {
        return;
      }
    }
  }

 private:
  Loader& loader_;
  const RunPlan& plan_;
};

// The rate of a caller that never waits: it has its batches already.
void Replay(Loader& loader, const RunPlan& plan, Measurement& measurement) {
  std::vector<Batch> batches;
  while (static_cast<int32_t>(batches.size()) < plan.replay) {
    if (std::optional<Batch> batch = loader.Next()) batches.push_back(std::move(*batch));
  }
  int64_t samples = 0;
  const double start = SteadySeconds();
  double end = start;
  for (size_t i = 0; end < start + plan.seconds || i < batches.size(); ++i) {
    samples += batches[i % batches.size()].size();
    if (plan.step_ms > 0) std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(plan.step_ms));
    end = SteadySeconds();
  }
  measurement.seconds = end - start;
  measurement.images_per_second = static_cast<double>(samples) / measurement.seconds;
}

// What the child of a fork sends.
[[noreturn]] void RunChild(const RunPlan& plan, const Setting& setting, const std::shared_ptr<const Source>& source,
                           int out) {
  (void)signal(SIGINT, SIG_IGN);  // the parent's to hear
  (void)signal(SIGTERM, SIG_DFL);
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  Measurement measurement;
  try {
    measurement = Measure(plan, setting, source);
  } catch (const std::exception& error) {
    measurement.setting = setting;
    measurement.error = error.what();
  }
  const std::string text = ToJson(measurement).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  for (size_t sent = 0; sent < text.size();) {
    const ssize_t more = write(out, text.data() + sent, text.size() - sent);
    if (more < 0 && errno != EINTR) break;
    sent += static_cast<size_t>(std::max<ssize_t>(more, 0));
  }
  _exit(0);
}

// All that the child sends; nothing where it does not end in time, or `stop` was set.
std::optional<std::string> Listen(int in, double patience, const volatile std::sig_atomic_t& stop) {
  std::string text;
  const double end = SteadySeconds() + patience;
  while (stop == 0 && SteadySeconds() < end) {
    pollfd waiting = {in, POLLIN, 0};
    constexpr int kTickMs = 100;
    if (poll(&waiting, 1, kTickMs) <= 0) continue;
    std::array<char, 4096> part;
    const ssize_t got = read(in, part.data(), part.size());
    if (got == 0) return text;
    if (got > 0) text.append(part.data(), static_cast<size_t>(got));
    if (got < 0 && errno != EINTR) break;
  }
  return std::nullopt;
}

std::string EndWords(int status) {
  if (WIFSIGNALED(status)) {
    const char* const words = sigdescr_np(WTERMSIG(status));
    return fmt::format("the run was ended by signal {} ({})", WTERMSIG(status), words == nullptr ? "unknown" : words);
  }
  return fmt::format("the run ended with exit code {} and said nothing", WEXITSTATUS(status));
}

Measurement Parsed(const Setting& setting, const std::string& text, int status) {
  Measurement measurement;
  try {
    measurement = MeasurementFrom(nlohmann::json::parse(text));
  } catch (const std::exception&) {
    measurement.error = EndWords(status);
  }
  measurement.setting = setting;
  return measurement;
}

}  // namespace

Measurement Measure(const RunPlan& plan, const Setting& setting, std::shared_ptr<const Source> source) {
  Measurement measurement;
  measurement.setting = setting;
  LoaderOptions options = WithSetting(plan.options, setting);
  options.report_every = 0;
  options.live_feed = false;
  options.grow_slots = plan.replay > 0;
  const int64_t rss_before = ReadProcessCounters().peak_rss_bytes;
  const double start = SteadySeconds();
  Loader loader(options, std::move(source));
  if (plan.replay > 0) {
    Replay(loader, plan, measurement);
    return measurement;
  }
  Caller caller(loader, plan);
  caller.Step();
  measurement.first_batch_seconds = SteadySeconds() - start;
  if (!plan.one_pass) {
    // Not before every slot was used.
    caller.StepsFor(plan.warm_up_seconds, int64_t{3} * (options.prefetch_factor + 1));
    loader.RestartReport();
  }
  const double cpu_before = ReadProcessCounters().cpu_seconds;
  caller.StepsFor(plan.seconds, kFewestBatches);
  const StallReport report = loader.Report();
  const ProcessCounters after = ReadProcessCounters();
  TakeReport(report, measurement);
  const auto samples = static_cast<double>(std::max<int64_t>(report.samples, 1));
  measurement.cpu_seconds_per_1000 = (after.cpu_seconds - cpu_before) * 1000 / samples;
  measurement.memory_bytes = after.peak_rss_bytes - rss_before;
  measurement.step_seconds = plan.step_ms / 1000;
  return measurement;
}

Measurement MeasureApart(const RunPlan& plan, const Setting& setting, const std::shared_ptr<const Source>& source,
                         const volatile std::sig_atomic_t& stop) {
  std::array<int, 2> ends;
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  const BusyCpus before = ReadBusyCpus();
  const pid_t child = fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child == 0) RunChild(plan, setting, source, ends[1]);
  close(ends[1]);
  const std::optional<std::string> text = Listen(ends[0], plan.warm_up_seconds + plan.seconds + kPatienceSeconds, stop);
  close(ends[0]);
  if (!text) kill(child, SIGKILL);
  int status = 0;
  rusage used = {};
  while (wait4(child, &status, 0, &used) < 0 && errno == EINTR) {
  }
  if (text) {
    Measurement measurement = Parsed(setting, *text, status);
    measurement.foreign_cpus = ForeignCpus(before, ReadBusyCpus(), used);
    return measurement;
  }
  Measurement given_up;
  given_up.setting = setting;
  given_up.error = stop != 0 ? "interrupted" : fmt::format("no end after {:.0f} s, and killed", kPatienceSeconds);
  return given_up;
}

}  // namespace stoker
