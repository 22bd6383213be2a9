#include "bench/top_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>

#include "bench/run_command.h"
#include "bench/top/screen.h"
#include "bench/top/terminal.h"
#include "bench/top/watched.h"

namespace stoker {
namespace {

constexpr std::chrono::milliseconds kRefresh{500};

double UnixNow() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

std::optional<int32_t> AsPid(const std::string& text) {
  int32_t pid = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pid);
  if (error != std::errc() || end != text.data() + text.size() || pid < 1) return std::nullopt;
  return pid;
}

void PrintView(const JobView& view) { std::cout << PlainText(Draw(view, OutputColumns(), 0)) << std::flush; }

// Once, without a terminal.
int Print(Watched& watched, bool json) {
  JobView view;
  const bool lives = watched.Update(view);
  if (watched.lines().empty()) {
    fmt::print(stderr, "stoker: {}{}\n", view.notice.empty() ? "" : view.notice + ". ", view.explanation);
    return kExitFailed;
  }
  if (json) {
    for (const std::string& line : watched.lines()) std::cout << line << '\n';
    std::cout << std::flush;
  } else {
    PrintView(view);
  }
  return lives ? kExitOk : kExitFailed;
}

int Follow(Watched& watched, std::unique_ptr<Terminal> terminal) {
  JobView view;
  bool help = false;
  auto due = std::chrono::steady_clock::now();
  for (;;) {
    const auto now = std::chrono::steady_clock::now();
    if (now >= due) {
      due = now + kRefresh;
      if (!watched.Update(view)) break;
    }
    view.keys = view.loaders.size() > 1 ? "tab next  h help  q quit" : "h help  q quit";
    terminal->Show(help ? DrawHelp(terminal->width(), terminal->height())
                        : Draw(view, terminal->width(), terminal->height()));
    const size_t loaders = std::max<size_t>(view.loaders.size(), 1);
    const Terminal::Key key = terminal->Wait(std::chrono::ceil<std::chrono::milliseconds>(due - now));
    if (key == Terminal::Key::kSignal) return kExitInterrupted;
    if (key == Terminal::Key::kQuit) return kExitOk;
    if (key == Terminal::Key::kNext) view.selected = (view.selected + 1) % loaders;
    if (key == Terminal::Key::kPrevious) view.selected = (view.selected + loaders - 1) % loaders;
    if (key != Terminal::Key::kNone) help = key == Terminal::Key::kHelp && !help;
  }
  // The last view stays on the terminal.
  terminal.reset();
  view.keys.clear();
  PrintView(view);
  return kExitFailed;
}

int Watch(Watched& watched, const TopOptions& options) {
  std::unique_ptr<Terminal> terminal = options.once || options.json ? nullptr : Terminal::Open();
  return terminal == nullptr ? Print(watched, options.json) : Follow(watched, std::move(terminal));
}

int WatchProcess(int32_t pid, const TopOptions& options, const FeedPlace& place) {
  WatchedProcess watched(pid, place, SteadyNow);
  return Watch(watched, options);
}

void PrintJobs(const std::map<int32_t, std::vector<FeedReading>>& jobs, const FeedPlace& place) {
  fmt::print("{:>8}{:>9}{:>10}{:>11}{:>9}  {:<9} {}\n", "pid", "loaders", "step", "ms/step", "stall", "leads", "job");
  for (const auto& [pid, feeds] : jobs) {
    const ReportView report = ReportView::Parse(feeds.front().line).value_or(ReportView());
    fmt::print("{:>8}{:>9}{:>10.0f}{:>11.1f}{:>7.1f} %  {:<9} {}\n", pid, feeds.size(), report.NumberOr("/step", 0),
               report.NumberOr("/step_ms", 0), 100 * report.NumberOr("/stalls/stall_share", 0),
               report.Text("/stalls/leader"),
               feeds.front().own_namespace ? JobName(pid, place.root) : "(in another container)");
  }
}

// Whatever runs.
int WatchAny(const TopOptions& options, const FeedPlace& place) {
  RemoveDeadFeeds(place);
  std::map<int32_t, std::vector<FeedReading>> jobs;
  for (FeedReading& feed : ReadFeeds(place)) {
    if (feed.lives) jobs[feed.owner.pid].push_back(std::move(feed));
  }
  if (jobs.size() == 1) return WatchProcess(jobs.begin()->first, options, place);
  if (jobs.empty()) {
    fmt::print(stderr, "stoker: no job of yours that has taken a batch runs here; see stoker top --help\n");
    return kExitFailed;
  }
  if (options.json)
    throw std::invalid_argument("several jobs run: --json wants the PID of one (stoker top lists them)");
  PrintJobs(jobs, place);
  return kExitOk;
}

}  // namespace

void AddTopOptions(CLI::App& command, TopOptions& options) {
  command.add_option("target", options.target, "PID of a job, or a file of its reports (./123 where it is a number)")
      ->option_text("PID|FILE");
  command.add_flag("--once", options.once, "Print it once as plain text and end");
  command.add_flag("--json", options.json, "Print the newest report once as it is, one line a loader");
}

int TopCommand(const TopOptions& options, const FeedPlace& place) {
  if (options.target.empty()) return WatchAny(options, place);
  if (const std::optional<int32_t> pid = AsPid(options.target)) {
    if (ReadFeeds(place, pid).empty() && !Lives({.pid = *pid}, place.root)) {
      throw std::invalid_argument(fmt::format("there is no process {}; stoker top lists the jobs that run", *pid));
    }
    return WatchProcess(*pid, options, place);
  }
  WatchedFile watched(options.target, UnixNow);
  return Watch(watched, options);
}

}  // namespace stoker
