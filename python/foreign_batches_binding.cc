#include <pybind11/stl.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "loader/foreign_batches.h"
#include "python/batch_arrays.h"
#include "python/bindings.h"
#include "python/interrupt.h"

namespace py = pybind11;

namespace stoker {
namespace {

// As two of Python's threads have it, the one that pulls and the one that takes. Waits without the GIL.
class SharedBatches {
 public:
  SharedBatches(std::string device, uint32_t depth)
      : batches_(std::make_shared<ForeignBatches>(std::move(device), depth)) {}
  ~SharedBatches() { Close(); }

  void Begin() {
    std::shared_ptr<ForeignBatches> taken = Call();
    const WithoutGil without_gil;
    const std::shared_ptr<ForeignBatches> batches = std::move(taken);  // let go of without the GIL
    batches->Begin(CheckSignals);
  }

  // Pieces: (offset, address, bytes).
  bool Put(const std::vector<std::tuple<size_t, uintptr_t, size_t>>& given, size_t bytes) {
    std::vector<ForeignBatches::Piece> pieces;
    pieces.reserve(given.size());
    for (const auto& [offset, address, size] : given) {
      if (offset > bytes || size > bytes - offset) throw py::value_error("a piece lies beyond its batch");
      pieces.push_back({reinterpret_cast<const void*>(address), size, offset});
    }
    std::shared_ptr<ForeignBatches> taken = batches_;  // with the GIL
    if (taken == nullptr) return false;
    const WithoutGil without_gil;
    const std::shared_ptr<ForeignBatches> batches = std::move(taken);
    return batches->Put(pieces, bytes);
  }

  void End() {
    if (batches_ != nullptr) batches_->End();
  }
  void Leave() {
    if (batches_ != nullptr && pid_ == getpid()) batches_->Leave();
  }

  std::optional<BatchArrays> Next(StreamHandle stream) {
    std::shared_ptr<ForeignBatches> taken = Call();
    const WithoutGil without_gil;
    const std::shared_ptr<ForeignBatches> batches = std::move(taken);
    std::optional<Batch> batch = batches->Next(stream, CheckSignals);
    if (!batch) return std::nullopt;
    return ArraysOf(std::move(*batch));
  }

  // Its threads and its memory are the parent's where this is a child of fork().
  void Close() {
    std::shared_ptr<ForeignBatches> batches = std::move(batches_);
    if (batches == nullptr) return;
    if (pid_ != getpid()) {
      (void)new std::shared_ptr<ForeignBatches>(std::move(batches));
      return;
    }
    const WithoutGil without_gil;
    batches->Stop();
    batches.reset();
  }

  StallReport Report() { return Call()->Report(); }
  void RestartReport() { Call()->RestartReport(); }
  size_t slot_bytes() { return batches_ == nullptr ? 0 : batches_->slot_bytes(); }

 private:
  std::shared_ptr<ForeignBatches> Call() const {
    if (pid_ != getpid()) {
      throw Error(LoadError::kForked, "next", "", -1,
                  "this prefetcher was made before the process was forked: make it in the child, or use spawn");
    }
    if (batches_ == nullptr) {
      { const WithoutGil stops_here_where_the_interpreter_goes; }
      throw Error(LoadError::kStopped, "next", "", -1, "the prefetcher is closed: make a new one");
    }
    return batches_;
  }

  const pid_t pid_ = getpid();
  std::shared_ptr<ForeignBatches> batches_;  // guarded by the GIL; null once closed
};

}  // namespace

void BindForeignBatches(py::module_& module) {
  py::class_<SharedBatches>(module, "ForeignBatches")
      .def(py::init<std::string, uint32_t>(), py::arg("device"), py::arg("depth"))
      .def("begin", &SharedBatches::Begin)
      .def("put", &SharedBatches::Put, py::arg("pieces"), py::arg("nbytes"))
      .def("end", &SharedBatches::End)
      .def("next", &SharedBatches::Next, py::arg("stream") = kHostStream)
      .def("leave", &SharedBatches::Leave)
      .def("stalls", &SharedBatches::Report)
      .def("reset_stalls", &SharedBatches::RestartReport)
      .def("close", &SharedBatches::Close)
      .def_property_readonly("slot_bytes", &SharedBatches::slot_bytes);
}

}  // namespace stoker
