#include "bench/sweep/run_log.h"

#include <fmt/format.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "bench/sweep/run_json.h"

namespace stoker {
namespace {

using nlohmann::json;

std::optional<json> LineOf(const std::string& text) {
  json line = json::parse(text, nullptr, false);
  if (line.is_discarded() || !line.is_object()) return std::nullopt;
  return line;
}

// Whether the last whole line says that the sweep was over.
bool IsOver(const std::filesystem::path& file) {
  std::ifstream in(file);
  bool over = true;  // an empty file holds nothing to lose
  for (std::string text; std::getline(in, text);) {
    const std::optional<json> line = LineOf(text);
    over = line && line->contains("over");
  }
  return over;
}

}  // namespace

RunLog::RunLog(std::filesystem::path file, const json& header, bool resume) : file_(std::move(file)) {
  const bool there = std::filesystem::is_regular_file(file_);
  if (resume && !there) {
    throw std::invalid_argument(fmt::format("--resume: there is no {} to go on from", file_.string()));
  }
  if (!resume && there && !IsOver(file_)) {
    throw std::invalid_argument(
        fmt::format("{} holds the runs of a sweep that is not over: --resume goes on with it, another --out begins "
                    "elsewhere, and without that file it begins anew",
                    file_.string()));
  }
  if (resume) Read(header);
  // The whole file anew: what was cut in the middle of a line is gone.
  out_.open(file_, std::ios::trunc);
  Write(header);
  for (const auto& [part, runs] : runs_) {
    for (const Measurement& run : runs) Write({{"part", part}, {"run", ToJson(run)}});
  }
}

void RunLog::Read(const json& header) {
  std::ifstream in(file_);
  if (!in) throw std::system_error(errno, std::generic_category(), "cannot read " + file_.string());
  std::string text;
  const std::optional<json> first = std::getline(in, text) ? LineOf(text) : std::nullopt;
  if (!first || *first != header) {
    throw std::invalid_argument(
        fmt::format("--resume: {} holds the runs of another sweep: the same path and options "
                    "are needed, on the same machine",
                    file_.string()));
  }
  while (std::getline(in, text)) {
    const std::optional<json> line = LineOf(text);
    if (!line || !line->contains("part")) continue;
    try {
      const int part = line->at("part");
      if (line->contains("restart")) {
        runs_[part].clear();
      } else {
        runs_[part].push_back(MeasurementFrom(line->at("run")));
      }
    } catch (const std::exception&) {
      continue;  // made again
    }
  }
}

std::optional<Measurement> RunLog::Take(int part) {
  const std::vector<Measurement>& runs = runs_[part];
  size_t& next = next_[part];
  if (next >= runs.size()) return std::nullopt;
  ++taken_;
  return runs[next++];
}

void RunLog::Add(int part, const Measurement& measurement) { Write({{"part", part}, {"run", ToJson(measurement)}}); }

void RunLog::Restart(int part) {
  runs_[part].clear();
  next_[part] = 0;
  Write({{"part", part}, {"restart", true}});
}

void RunLog::End() { Write({{"over", true}}); }

void RunLog::Write(const json& line) {
  out_ << line.dump(-1, ' ', false, json::error_handler_t::replace) << '\n' << std::flush;
  if (!out_) throw std::system_error(errno, std::generic_category(), "cannot write " + file_.string());
}

}  // namespace stoker
