#include <pybind11/stl.h>

#include <optional>
#include <string>
#include <vector>

#include "loader/machine/overview.h"
#include "loader/options.h"
#include "python/bindings.h"
#include "python/interrupt.h"

namespace py = pybind11;

namespace stoker {
namespace {

std::vector<std::string> WarningsOf(const Overview& overview) {
  std::vector<std::string> warnings;
  for (const Check& check : Warnings(overview)) {
    warnings.push_back(check.name + ": " + check.found + ": " + check.remedy);
  }
  return warnings;
}

Overview ReadMachine(std::string path, int32_t workers, std::string device, int64_t planned_bytes,
                     std::optional<int32_t> torch_threads, std::optional<int32_t> torch_interop_threads,
                     std::optional<int32_t> opencv_threads) {
  OverviewRequest request;
  request.data_path = std::move(path);
  request.num_workers = workers < 0 ? DefaultWorkers() : workers;
  request.device = std::move(device);
  request.planned_bytes = planned_bytes;
  request.torch_threads = torch_threads;
  request.torch_interop_threads = torch_interop_threads;
  request.opencv_threads = opencv_threads;
  const WithoutGil without_gil;
  return ReadOverview(request);
}

}  // namespace

void BindOverview(py::module_& module) {
  py::class_<Overview>(module, "Overview")
      .def_property_readonly("short", [](const Overview& overview) { return FormatOverview(overview, false); })
      .def_property_readonly("warnings", &WarningsOf)
      .def("__str__", [](const Overview& overview) { return FormatOverview(overview, true); })
      .def("__repr__", [](const Overview& overview) { return FormatOverview(overview, false); });
  module.def("overview", &ReadMachine, py::arg("path") = "", py::arg("num_workers") = -1, py::arg("device") = "cpu",
             py::arg("planned_bytes") = 0, py::arg("torch_threads") = py::none(),
             py::arg("torch_interop_threads") = py::none(), py::arg("opencv_threads") = py::none());
}

}  // namespace stoker
