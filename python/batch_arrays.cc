#include "python/batch_arrays.h"

#include <unistd.h>

#include <memory>
#include <utility>
#include <vector>

#include "python/bindings.h"

namespace py = pybind11;

namespace stoker {
namespace {

using Shape = std::vector<int64_t>;

// A field by itself: one that refers to its batch would keep the images with it.
template <Array BatchArrays::*kField>
Array FieldOf(const BatchArrays& batch) {
  return batch.*kField;
}

// A child of fork() must not touch the ring, whose lock another thread may have held: it leaves the batch alone.
std::shared_ptr<const Batch> Shared(Batch batch) {
  return {new Batch(std::move(batch)), [pid = getpid()](const Batch* held) {
            if (getpid() == pid) delete held;
          }};
}

BatchArrays OnGpu(Batch batch, int32_t index, const Shape& shape, DLDataType dtype) {
  const uint64_t position = batch.position();
  const Shape numbers = {batch.size()};
  const std::shared_ptr<const Batch> owner = Shared(std::move(batch));
  const Array::WaitOn wait_on = [owner, pid = getpid()](StreamHandle stream) {
    if (getpid() != pid) throw py::buffer_error("the batch is on a GPU, which a child of fork() has not: use spawn");
    owner->WaitOn(stream);
  };
  const auto array = [&](const void* data, const Shape& of, DLDataType type) {
    return Array(owner, data, of, type, index, wait_on);
  };
  Array images = array(owner->pixels(), shape, dtype);
  Array labels = array(owner->device_labels(), numbers, kInt64);
  Array ids = array(owner->device_ids(), numbers, kInt64);
  Array valid = array(owner->device_valid(), numbers, kBool8);
  return {std::move(images), std::move(labels), std::move(ids), std::move(valid), position};
}

}  // namespace

BatchArrays ArraysOf(Batch batch) {
  const std::array<int64_t, 4> sides = batch.shape();
  Shape shape(sides.begin(), sides.end());
  const DLDataType dtype = DtypeOf(batch.spec().element);
  const bool on_device = batch.device_labels() != nullptr;
  if (on_device && batch.device()->cuda_index >= 0) {
    const int32_t index = batch.device()->cuda_index;
    return OnGpu(std::move(batch), index, shape, dtype);
  }
  Array labels = Array::CopyOf(batch.labels(), kInt64);
  Array ids = Array::CopyOf(batch.ids(), kInt64);
  Array valid = Array::CopyOf(batch.valid(), kBool8);
  const uint64_t position = batch.position();
  const std::byte* pixels = batch.pixels();
  std::shared_ptr<const void> owner;
  if (on_device) {
    auto copy = std::make_shared<std::vector<std::byte>>(batch.pixel_bytes());
    batch.CopyPixelsTo(*copy);
    pixels = copy->data();
    owner = std::move(copy);
  } else {
    owner = Shared(std::move(batch));
  }
  return {Array(std::move(owner), pixels, std::move(shape), dtype), std::move(labels), std::move(ids), std::move(valid),
          position};
}

void BindBatch(py::module_& module) {
  py::class_<BatchArrays>(module, "Batch")
      .def_property_readonly("images", FieldOf<&BatchArrays::images>)
      .def_property_readonly("labels", FieldOf<&BatchArrays::labels>)
      .def_property_readonly("ids", FieldOf<&BatchArrays::ids>)
      .def_property_readonly("valid", FieldOf<&BatchArrays::valid>)
      .def_readonly("position", &BatchArrays::position);
}

}  // namespace stoker
