#include <pybind11/stl.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "loader/options.h"
#include "loader/stall_report.h"
#include "loader/tuning/search.h"
#include "python/bindings.h"

namespace py = pybind11;

namespace stoker {
namespace {

// By the names of a loader's arguments.
py::dict ToDict(const Setting& setting) {
  return py::dict(py::arg("num_workers") = setting.num_workers, py::arg("prefetch_factor") = setting.prefetch_factor,
                  py::arg("queue_depth") = setting.queue_depth,
                  py::arg("reader") = std::string(ReaderName(setting.reader)));
}

py::dict ToDict(const Lane& lane, const std::string& name = {}) {
  const Interval rate = lane.rates.empty() ? Interval() : lane.rate();
  const Interval against = lane.against.value_or(Interval());
  return py::dict(
      py::arg("name") = name, py::arg("words") = SettingWords(lane.setting), py::arg("setting") = ToDict(lane.setting),
      py::arg("images_per_second") = rate.mean, py::arg("margin") = rate.margin,
      py::arg("of_best") = lane.against ? std::optional(against.mean) : std::nullopt,
      py::arg("of_best_margin") = against.margin, py::arg("runs") = rate.runs, py::arg("failed") = lane.failed);
}

py::dict ToDict(const Finding& finding) {
  py::list baselines, lanes;
  for (const Finding::Beside& beside : finding.baselines) baselines.append(ToDict(beside.lane, beside.name));
  for (const Lane& lane : finding.lanes) lanes.append(ToDict(lane));
  const Measurement& typical = finding.typical;
  return py::dict(py::arg("recommended") = ToDict(finding.recommended), py::arg("best") = ToDict(finding.best),
                  py::arg("baselines") = baselines, py::arg("lanes") = lanes, py::arg("verdict") = typical.verdict,
                  py::arg("advice") = typical.advice, py::arg("first_batch_seconds") = typical.first_batch_seconds,
                  py::arg("cpu_seconds_per_1000") = typical.cpu_seconds_per_1000,
                  py::arg("memory_bytes") = typical.memory_bytes, py::arg("planned_bytes") = typical.planned_bytes,
                  py::arg("runs") = finding.runs, py::arg("grid_runs") = finding.grid_runs,
                  py::arg("falls_beyond") = finding.falls_beyond, py::arg("failures") = finding.failures);
}

Search MakeSearch(int32_t cpus, bool full, int32_t rounds, int32_t most_rounds) {
  SearchSpace space = DefaultSpace(cpus > 0 ? cpus : DefaultWorkers());
  space.full = full;
  space.least_rounds = rounds;
  space.most_rounds = most_rounds;
  return Search(std::move(space));
}

// A measurement of what the search asks for.
Measurement Asked(const Search& search) {
  const std::optional<Setting> setting = search.Next();
  if (!setting) throw std::logic_error("the search is over");
  Measurement measurement;
  measurement.setting = *setting;
  measurement.round = search.round();
  return measurement;
}

void Add(Search& search, const StallReport& report, double first_batch_seconds, double cpu_seconds_per_1000,
         int64_t memory_bytes) {
  Measurement measurement = Asked(search);
  TakeReport(report, measurement);
  measurement.first_batch_seconds = first_batch_seconds;
  measurement.cpu_seconds_per_1000 = cpu_seconds_per_1000;
  measurement.memory_bytes = memory_bytes;
  search.Add(measurement);
}

void Fail(Search& search, const std::string& reason) {
  Measurement measurement = Asked(search);
  measurement.error = reason.empty() ? "no reason was given" : reason;
  search.Add(measurement);
}

}  // namespace

void BindTuning(py::module_& module) {
  py::class_<Search>(module, "Search")
      .def(py::init(&MakeSearch), py::arg("cpus") = 0, py::arg("full") = false, py::arg("rounds") = 3,
           py::arg("most_rounds") = 7)
      .def("next",
           [](const Search& search) {
             const std::optional<Setting> setting = search.Next();
             return setting ? py::object(ToDict(*setting)) : py::none();
           })
      .def("add", &Add, py::arg("report"), py::arg("first_batch_seconds"), py::arg("cpu_seconds_per_1000"),
           py::arg("memory_bytes"))
      .def("fail", &Fail, py::arg("reason"))
      .def("found",
           [](const Search& search) {
             const std::optional<Finding> finding = search.Found();
             return finding ? py::object(ToDict(*finding)) : py::none();
           })
      .def_property_readonly("round", &Search::round)
      .def_property_readonly("words",
                             [](const Search& search) {
                               const std::optional<Setting> setting = search.Next();
                               const std::string phase = search.phase_words();
                               return setting ? phase + ": " + SettingWords(*setting) : phase;
                             })
      .def_property_readonly("runs_left", &Search::runs_left);
}

}  // namespace stoker
