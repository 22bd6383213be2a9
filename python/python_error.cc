#include "python/python_error.h"

#include <pybind11/pybind11.h>

#include <exception>

#include "python/interrupt.h"

namespace py = pybind11;

namespace stoker {
namespace {

void Raise(const Error& error, const std::string& path) {
  // Runs Python code, which may lose the lock on its way.
  OrStop([&] {
    const py::object type = py::module_::import("stoker.errors").attr("Error");
    const auto name = py::reinterpret_steal<py::object>(PyUnicode_DecodeFSDefault(path.c_str()));
    const py::object raised = type(error.what(), py::arg("path") = name, py::arg("index") = error.id(),
                                   py::arg("offset") = error.offset_bytes(), py::arg("stage") = error.stage(),
                                   py::arg("reason") = error.reason());
    PyErr_SetObject(type.ptr(), raised.ptr());
  });
}

}  // namespace

void RegisterErrors() {
  // NOLINTNEXTLINE(performance-unnecessary-value-param): pybind11's signature
  py::register_exception_translator([](std::exception_ptr pointer) {
    try {
      if (pointer) std::rethrow_exception(pointer);
    } catch (const LocatedError& located) {
      Raise(located.error, located.path);
    } catch (const Error& error) {
      Raise(error, error.sample());
    }
  });
}

}  // namespace stoker
