#include <pybind11/stl.h>

#include <climits>
#include <limits>
#include <optional>
#include <string>

#include "loader/file_source.h"
#include "python/bindings.h"
#include "python/interrupt.h"

namespace py = pybind11;

namespace stoker {
namespace {

// A path as the bytes that the system knows it by. Requires: the GIL.
std::string BytesOf(py::handle path) {
  PyObject* encoded = nullptr;
  if (PyUnicode_FSConverter(path.ptr(), &encoded) == 0) throw py::error_already_set();
  const auto bytes = py::reinterpret_steal<py::bytes>(encoded);
  return bytes.cast<std::string>();
}

py::object PathOf(const FileSource& source, int64_t index) {
  const auto size = static_cast<int64_t>(source.size());
  if (index < 0 || index >= size) {
    throw py::index_error("index " + std::to_string(index) + " of " + std::to_string(size) + " samples");
  }
  char path[PATH_MAX];
  if (!source.Path(static_cast<uint32_t>(index), path, sizeof path)) throw py::value_error("the path is too long");
  return py::reinterpret_steal<py::object>(PyUnicode_DecodeFSDefault(path));
}

std::shared_ptr<FileSource> FromPaths(const py::sequence& paths, const py::sequence& labels, ClassNames classes) {
  if (paths.size() != labels.size()) {
    throw py::value_error(std::to_string(paths.size()) + " paths, but " + std::to_string(labels.size()) + " labels");
  }
  if (paths.size() > std::numeric_limits<uint32_t>::max()) throw py::value_error("more than 2^32 - 1 paths");
  FileSource::Builder builder;
  builder.Reserve(paths.size(), 0);
  for (size_t i = 0; i < paths.size(); ++i) {
    const auto label = labels[i].cast<int64_t>();
    if (label < -1 || label > std::numeric_limits<int32_t>::max()) {
      throw py::value_error("label " + std::to_string(label) + " of sample " + std::to_string(i) +
                            ": allowed are 0 to 2^31 - 1, and -1 for none");
    }
    builder.AddPath(BytesOf(paths[i]), label);
  }
  const WithoutGil without_gil;
  return builder.Build("", std::move(classes));
}

std::shared_ptr<FileSource> FromFolder(const py::object& folder, std::optional<ClassNames> classes, bool allow_empty) {
  const std::string path = BytesOf(folder);
  const WithoutGil without_gil;
  return OpenFolder(path, {.classes = std::move(classes), .allow_empty = allow_empty});
}

py::list LabelsOf(const FileSource& source) {
  py::list labels(source.size());
  for (uint64_t i = 0; i < source.size(); ++i) labels[i] = source.Label(i);
  return labels;
}

}  // namespace

void BindSource(py::module_& module) {
  py::class_<FileSource, std::shared_ptr<FileSource>>(module, "FileSource")
      .def_static("from_folder", &FromFolder, py::arg("folder"), py::arg("classes"), py::arg("allow_empty"))
      .def_static("from_paths", &FromPaths, py::arg("paths"), py::arg("labels"), py::arg("classes"))
      .def("__len__", &FileSource::size)
      .def("path", &PathOf, py::arg("index"))
      .def(
          "label",
          [](const FileSource& source, int64_t index) {
            if (index < 0 || index >= static_cast<int64_t>(source.size())) throw py::index_error();
            return source.Label(static_cast<uint64_t>(index));
          },
          py::arg("index"))
      .def("labels", &LabelsOf)
      .def_property_readonly(
          "classes",
          [](const FileSource& source) {
            py::list names;
            for (const std::string& name : source.classes()) {
              names.append(py::reinterpret_steal<py::object>(PyUnicode_DecodeFSDefault(name.c_str())));
            }
            return names;
          })
      .def_property_readonly("nbytes", &FileSource::memory_bytes);
}

}  // namespace stoker
