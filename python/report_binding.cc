#include <pybind11/stl.h>

#include "loader/loader.h"
#include "loader/stall_report.h"
#include "python/bindings.h"

namespace py = pybind11;

namespace stoker {
namespace {

py::dict SharesOf(const StallReport& report) {
  py::dict shares;
  for (size_t i = 0; i < kStages; ++i) shares[kStageNames[i]] = report.shares[i];
  return shares;
}

py::dict CeilingsOf(const StallReport& report) {
  py::dict ceilings;
  for (size_t i = 0; i < kServedStages; ++i) ceilings[kStageNames[i]] = report.ceilings[i];
  return ceilings;
}

}  // namespace

void BindReport(py::module_& module) {
  py::class_<SkippedSample>(module, "SkippedSample")
      .def_readonly("index", &SkippedSample::id)
      .def_readonly("name", &SkippedSample::name)
      .def_readonly("reason", &SkippedSample::reason)
      .def("__repr__", [](const SkippedSample& sample) { return sample.name + ": " + sample.reason; });

  py::class_<StallReport>(module, "StallReport")
      .def_readonly("verdict", &StallReport::verdict)
      .def_readonly("advice", &StallReport::advice)
      .def_readonly("seconds", &StallReport::seconds)
      .def_readonly("samples", &StallReport::samples)
      .def_readonly("batches", &StallReport::batches)
      .def_readonly("bytes_read", &StallReport::bytes_read)
      .def_readonly("images_per_second", &StallReport::images_per_second)
      .def_readonly("stall_share", &StallReport::stall_share)
      .def_readonly("empties", &StallReport::empties)
      .def_property_readonly("shares", SharesOf)
      .def_property_readonly("ceilings", CeilingsOf)
      .def_readonly("read_ms", &StallReport::read_ms)
      .def_readonly("decode_ms", &StallReport::decode_ms)
      .def_readonly("augment_ms", &StallReport::augment_ms)
      .def_readonly("reader", &StallReport::reader)
      .def_readonly("device", &StallReport::device)
      .def_readonly("pinned", &StallReport::pinned)
      .def_readonly("workers", &StallReport::workers)
      .def_readonly("cached_share", &StallReport::cached_share)
      .def_readonly("budget_bytes", &StallReport::budget_bytes)
      .def_readonly("extra_slots", &StallReport::extra_slots)
      .def_readonly("extra_slots_peak", &StallReport::extra_slots_peak)
      .def_property_readonly("slots", [](const StallReport& report) { return report.buffers.slots; })
      .def_property_readonly("slot_bytes", [](const StallReport& report) { return report.buffers.slot_bytes; })
      .def_readonly("decoder_warnings", &StallReport::decoder_warnings)
      .def_readonly("skipped_count", &StallReport::skipped_count)
      .def_readonly("skipped", &StallReport::skipped)
      .def_property_readonly("line", &FormatLine)
      .def("__str__", &FormatReport)
      .def("__repr__", [](const StallReport& report) { return "<StallReport " + FormatLine(report) + ">"; });
}

}  // namespace stoker
