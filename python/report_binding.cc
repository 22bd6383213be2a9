#include <pybind11/stl.h>

#include <algorithm>
#include <stdexcept>

#include "loader/loader.h"
#include "loader/stall_report.h"
#include "python/bindings.h"

namespace py = pybind11;

namespace stoker {
namespace {

// Calls `visit(name, member)` for every field of a report, in the order that people want to read them in: properties,
// to_dict() and what is read back are all made of this list.
template <typename Visit>
void ForEachField(const Visit& visit) {
  visit("verdict", &StallReport::verdict);
  visit("advice", &StallReport::advice);
  visit("leader", &StallReport::leader);
  visit("bound", &StallReport::bound);
  visit("seconds", &StallReport::seconds);
  visit("samples", &StallReport::samples);
  visit("batches", &StallReport::batches);
  visit("bytes_read", &StallReport::bytes_read);
  visit("images_per_second", &StallReport::images_per_second);
  visit("stall_share", &StallReport::stall_share);
  visit("device_stall_share", &StallReport::device_stall_share);
  visit("empties", &StallReport::empties);
  visit("shares", &StallReport::shares);
  visit("margins", &StallReport::margins);
  visit("windows", &StallReport::windows);
  visit("parts", &StallReport::parts);
  visit("ceilings", &StallReport::ceilings);
  visit("busy", &StallReport::busy);
  visit("gains", &StallReport::gains);
  visit("on_cpu_share", &StallReport::on_cpu_share);
  visit("read_ms", &StallReport::read_ms);
  visit("decode_ms", &StallReport::decode_ms);
  visit("augment_ms", &StallReport::augment_ms);
  visit("reader", &StallReport::reader);
  visit("device", &StallReport::device);
  visit("pinned", &StallReport::pinned);
  visit("workers", &StallReport::workers);
  visit("max_workers", &StallReport::max_workers);
  visit("auto_workers", &StallReport::auto_workers);
  visit("cached_share", &StallReport::cached_share);
  visit("cached_known", &StallReport::cached_known);
  visit("budget_bytes", &StallReport::budget_bytes);
  visit("scratch_bytes", &StallReport::scratch_bytes);
  visit("oversized_bytes_peak", &StallReport::oversized_bytes_peak);
  visit("slots", &BufferPlan::slots);
  visit("slot_bytes", &BufferPlan::slot_bytes);
  visit("device_slots", &BufferPlan::device_slots);
  visit("device_slot_bytes", &BufferPlan::device_slot_bytes);
  visit("device_is_host", &BufferPlan::device_is_host);
  visit("read_buffers", &BufferPlan::read_buffers);
  visit("read_buffer_bytes", &BufferPlan::read_buffer_bytes);
  visit("stall_log_bytes", &BufferPlan::stall_log_bytes);
  visit("source_bytes", &BufferPlan::source_bytes);
  visit("index_bytes", &BufferPlan::index_bytes);
  visit("index_used_bytes", &StallReport::index_used_bytes);
  visit("index_entries", &StallReport::index_entries);
  visit("index_full", &StallReport::index_full);
  visit("index_file_entries", &StallReport::index_file_entries);
  visit("index_file", &StallReport::index_file);
  visit("extra_slots", &StallReport::extra_slots);
  visit("extra_slots_peak", &StallReport::extra_slots_peak);
  visit("cpu_path", &StallReport::cpu_path);
  visit("jpegs_own", &StallReport::jpegs_own);
  visit("jpegs_library", &StallReport::jpegs_library);
  visit("jpegs_started_over", &StallReport::jpegs_started_over);
  visit("decoder_warnings", &StallReport::decoder_warnings);
  visit("skipped_count", &StallReport::skipped_count);
  visit("skipped", &StallReport::skipped);
  visit("abandoned", &StallReport::abandoned);
}

template <typename Value>
const Value& In(const StallReport& report, Value StallReport::*member) {
  return report.*member;
}
template <typename Value>
const Value& In(const StallReport& report, Value BufferPlan::*member) {
  return report.buffers.*member;
}
template <typename Value>
Value& In(StallReport& report, Value StallReport::*member) {
  return report.*member;
}
template <typename Value>
Value& In(StallReport& report, Value BufferPlan::*member) {
  return report.buffers.*member;
}

// What the numbers of an array are called.
template <size_t size>
constexpr const char* NameOf(size_t index) {
  static_assert(size == kServedStages || size == kStages || size == kParts);
  if constexpr (size == kParts) {
    return kPartNames[index];
  } else {
    return kStageNames[index];
  }
}

template <typename Value>
py::object ToPython(const Value& value) {
  return py::cast(value);
}
template <size_t size>
py::object ToPython(const std::array<double, size>& values) {
  py::dict named;
  for (size_t i = 0; i < size; ++i) named[NameOf<size>(i)] = values[i];
  return named;
}
py::object ToPython(Stage stage) { return py::str(kStageNames[static_cast<size_t>(stage)]); }
py::object ToPython(Bound bound) { return py::str(kBoundNames[static_cast<size_t>(bound)]); }

// The same of types that JSON has.
template <typename Value>
py::object ToPlain(const Value& value) {
  return ToPython(value);
}
py::object ToPlain(const std::vector<SkippedSample>& skipped) {
  py::list plain;
  for (const SkippedSample& sample : skipped) {
    plain.append(
        py::dict(py::arg("index") = sample.id, py::arg("name") = sample.name, py::arg("reason") = sample.reason));
  }
  return plain;
}

template <typename Value>
void FromPlain(const py::handle& plain, Value& value) {
  value = plain.cast<Value>();
}
template <size_t size>
void FromPlain(const py::handle& plain, std::array<double, size>& values) {
  for (size_t i = 0; i < size; ++i) values[i] = py::cast<double>(plain[NameOf<size>(i)]);
}
template <typename Enum, size_t size>
void FromNames(const py::handle& plain, const std::array<const char*, size>& names, Enum& value) {
  const auto name = plain.cast<std::string>();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) throw std::invalid_argument("a stall report knows no \"" + name + "\"");
  value = static_cast<Enum>(found - names.begin());
}
void FromPlain(const py::handle& plain, Stage& stage) { FromNames(plain, kStageNames, stage); }
void FromPlain(const py::handle& plain, Bound& bound) { FromNames(plain, kBoundNames, bound); }
void FromPlain(const py::handle& plain, std::vector<SkippedSample>& skipped) {
  for (const py::handle sample : plain) {
    skipped.push_back(
        {sample["index"].cast<uint64_t>(), sample["name"].cast<std::string>(), sample["reason"].cast<std::string>()});
  }
}

py::dict ToDict(const StallReport& report) {
  py::dict fields;
  ForEachField([&](const char* name, auto member) { fields[name] = ToPlain(In(report, member)); });
  return fields;
}

StallReport FromDict(const py::dict& fields) {
  StallReport report;
  ForEachField([&](const char* name, auto member) {
    if (fields.contains(name)) FromPlain(fields[name], In(report, member));
  });
  return report;
}

}  // namespace

void BindReport(py::module_& module) {
  py::class_<SkippedSample>(module, "SkippedSample")
      .def_readonly("index", &SkippedSample::id)
      .def_readonly("name", &SkippedSample::name)
      .def_readonly("reason", &SkippedSample::reason)
      .def("__repr__", [](const SkippedSample& sample) { return sample.name + ": " + sample.reason; });

  py::class_<StallReport> report(module, "StallReport");
  report.def(py::init(&FromDict), py::arg("fields"))
      .def("to_dict", &ToDict)
      .def(py::pickle(&ToDict, &FromDict))
      .def_property_readonly("line", &FormatLine)
      .def_property_readonly("counts", [](const StallReport&) { return "images"; })
      .def("__str__", &FormatReport)
      .def("__repr__", [](const StallReport& shown) { return "<StallReport " + FormatLine(shown) + ">"; });
  ForEachField([&](const char* name, auto member) {
    report.def_property_readonly(name, [member](const StallReport& read) { return ToPython(In(read, member)); });
  });
}

}  // namespace stoker
