#include <pybind11/stl.h>

#include "loader/step_report.h"
#include "python/bindings.h"

namespace py = pybind11;

namespace stoker {

void BindStepReport(py::module_& module) {
  py::class_<StepReport>(module, "StepReport")
      .def_property_readonly("kind",
                             [](const StepReport& report) { return kKindNames[static_cast<size_t>(report.kind)]; })
      .def_readonly("unix_seconds", &StepReport::unix_seconds)
      .def_readonly("step", &StepReport::step)
      .def_readonly("epoch", &StepReport::epoch)
      .def_readonly("step_ms", &StepReport::step_ms)
      .def_readonly("smoothed_step_ms", &StepReport::smoothed_step_ms)
      .def_readonly("stalls", &StepReport::stalls)
      .def_readonly("rss_bytes", &StepReport::rss_bytes)
      .def_readonly("anonymous_bytes", &StepReport::anonymous_bytes)
      .def_readonly("growth_bytes_per_epoch", &StepReport::growth_bytes_per_epoch)
      .def_readonly("loader_bytes", &StepReport::loader_bytes)
      .def_readonly("pinned_bytes", &StepReport::pinned_bytes)
      .def_readonly("cpu_cores", &StepReport::cpu_cores)
      .def_readonly("cpu_share", &StepReport::cpu_share)
      .def_readonly("run_queue_share", &StepReport::run_queue_share)
      .def_readonly("cache_hit_share", &StepReport::cache_hit_share)
      .def_readonly("io_pressure", &StepReport::io_pressure)
      .def_readonly("memory_pressure", &StepReport::memory_pressure)
      .def_readonly("vram_used_bytes", &StepReport::vram_used_bytes)
      .def_readonly("vram_total_bytes", &StepReport::vram_total_bytes)
      .def_readonly("gpu_busy_percent", &StepReport::gpu_busy_percent)
      .def_readonly("slots_full", &StepReport::slots_full)
      .def_readonly("slots", &StepReport::slots)
      .def_readonly("warnings", &StepReport::warnings)
      .def_property_readonly("line", &FormatStep)
      .def_property_readonly("json", &ToJsonLine)
      .def("__str__", &FormatStep)
      .def("__repr__", [](const StepReport& report) { return "<StepReport " + FormatStep(report) + ">"; });
}

}  // namespace stoker
