#include "python/array.h"

#include <pybind11/stl.h>

#include <optional>
#include <string>
#include <utility>

#include "python/bindings.h"

namespace py = pybind11;

namespace stoker {
namespace {

// What a consumer of a capsule keeps alive.
struct Export {
  DLManagedTensor managed = {};
  std::vector<int64_t> shape;
  std::shared_ptr<const void> owner;
};

constexpr int64_t kDlpackNoSync = -1;
constexpr int64_t kDlpackLegacy = 1;              // CUDA's own number for that stream ...
constexpr int64_t kDlpackPerThread = 2;           // ... and for the calling thread's own
constexpr const char* kCapsuleName = "dltensor";  // renamed by whoever takes it (DLPack's Python specification)

void DropUntaken(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, kCapsuleName)) return;
  auto* managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, kCapsuleName));
  managed->deleter(managed);
}

bool Is(const DLDataType& type, uint8_t code, uint8_t bits) { return type.code == code && type.bits == bits; }

std::pair<int, int> Place(const Array& array) {
  return {static_cast<int>(array.device().device_type), array.device().device_id};
}

// The format characters of Python's struct module; null where it has none.
const char* BufferFormat(const DLDataType& type) {
  if (Is(type, kDLUInt, 8)) return "B";
  if (Is(type, kDLInt, 64)) return "q";
  if (Is(type, kDLFloat, 16)) return "e";
  if (Is(type, kDLFloat, 32)) return "f";
  return nullptr;
}

}  // namespace

DLDataType DtypeOf(ElementType element) noexcept {
  switch (element) {
    case ElementType::kUint8:
      return {kDLUInt, 8, 1};
    case ElementType::kFloat16:
      return {kDLFloat, 16, 1};
    case ElementType::kBfloat16:
      return {kDLBfloat, 16, 1};
    case ElementType::kFloat32:
      break;
  }
  return {kDLFloat, 32, 1};
}

const char* Array::dtype_name() const noexcept {
  if (Is(dtype_, kDLUInt, 8)) return "uint8";
  if (Is(dtype_, kDLInt, 64)) return "int64";
  if (Is(dtype_, kDLFloat, 16)) return "float16";
  if (Is(dtype_, kDLBfloat, 16)) return "bfloat16";
  return "float32";
}

size_t Array::bytes() const noexcept {
  size_t bytes = dtype_.bits / 8;
  for (const int64_t side : shape_) bytes *= static_cast<size_t>(side);
  return bytes;
}

py::capsule Array::ToDlpack(std::optional<int64_t> stream) const {
  if (wait_on_ && stream.value_or(kDlpackLegacy) != kDlpackNoSync) {
    const int64_t handle = stream.value_or(kDlpackLegacy);
    if (handle <= 0) throw py::buffer_error("stream " + std::to_string(handle) + ": DLPack has none of that number");
    // A thread's own stream is ordered with the legacy one, which is the same to whoever waits for it later.
    wait_on_(handle == kDlpackPerThread ? kLegacyStream : static_cast<StreamHandle>(handle));
  }
  auto taken = std::make_unique<Export>();
  taken->shape = shape_;
  taken->owner = owner_;
  DLTensor& tensor = taken->managed.dl_tensor;
  tensor.data = const_cast<void*>(data_);
  tensor.device = device_;
  tensor.ndim = static_cast<int>(taken->shape.size());
  tensor.dtype = dtype_;
  tensor.shape = taken->shape.data();
  taken->managed.manager_ctx = taken.get();
  taken->managed.deleter = [](DLManagedTensor* self) { delete static_cast<Export*>(self->manager_ctx); };
  PyObject* capsule = PyCapsule_New(&taken->managed, kCapsuleName, DropUntaken);
  if (capsule == nullptr) throw py::error_already_set();
  (void)taken.release();
  return py::reinterpret_steal<py::capsule>(capsule);
}

py::buffer_info Array::ToBuffer() const {
  if (device_.device_type != kDLCPU) {
    throw py::buffer_error("the batch is in the memory of cuda:" + std::to_string(device_.device_id) +
                           ": take it by DLPack, or load to the cpu");
  }
  const char* format = BufferFormat(dtype_);
  if (format == nullptr) {
    throw py::buffer_error("bfloat16 has no place in Python's buffer protocol, so in NumPy: take float16 or DLPack");
  }
  const auto item = static_cast<py::ssize_t>(dtype_.bits / 8);
  const std::vector<py::ssize_t> shape(shape_.begin(), shape_.end());
  return {const_cast<void*>(data_),          item, format, static_cast<py::ssize_t>(shape.size()), shape,
          py::detail::c_strides(shape, item)};
}

void BindArray(py::module_& module) {
  using TypeAndNumber = std::optional<std::pair<int, int>>;
  py::class_<Array>(module, "Array", py::buffer_protocol())
      .def_buffer([](const Array& array) { return array.ToBuffer(); })
      .def(
          "__dlpack__",
          // A copy is never made here.
          [](const Array& array, const std::optional<int64_t>& stream, const py::object&, const TypeAndNumber& device,
             const py::object& copy) {
            if (!copy.is_none() && copy.cast<bool>())
              throw py::buffer_error("stoker.Array does not copy: ask for none");
            if (device && *device != Place(array))
              throw py::buffer_error("stoker.Array is on another device: copy it from there");
            return array.ToDlpack(stream);
          },
          py::kw_only(), py::arg("stream") = py::none(), py::arg("max_version") = py::none(),
          py::arg("dl_device") = py::none(), py::arg("copy") = py::none())
      .def("__dlpack_device__", Place)
      // NumPy asks for it where the buffer protocol fails, and without it would wrap the Array as an object.
      .def("__array__", [](const Array& array, const py::args&, const py::kwargs&) { array.ToBuffer(); })
      .def_property_readonly("shape", [](const Array& array) { return py::tuple(py::cast(array.shape())); })
      .def_property_readonly("dtype", &Array::dtype_name)
      .def_property_readonly("nbytes", &Array::bytes)
      .def("__len__", [](const Array& array) { return array.shape().empty() ? 0 : array.shape()[0]; });
}

}  // namespace stoker
