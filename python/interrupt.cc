#include "python/interrupt.h"

#include <unistd.h>

#include <atomic>
#include <optional>

namespace py = pybind11;

namespace stoker {
namespace {

std::atomic<bool> leaving{false};  // a flag alone: orders nothing

bool IsMainThread() noexcept { return gettid() == getpid(); }

bool Finalizing() noexcept {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsFinalizing() != 0;
#else
  return _Py_IsFinalizing() != 0;
#endif
}

}  // namespace

void Leave() noexcept { leaving.store(true, std::memory_order_relaxed); }

void StopForGood() noexcept {
  for (;;) pause();
}

void CheckSignals() {
  // Python delivers them to its main thread alone; the others have nothing to do there once it is going.
  if (leaving.load(std::memory_order_relaxed) && !IsMainThread()) return;
  std::optional<py::error_already_set> raised;
  OrStop([&raised] {
    const PyGILState_STATE state = PyGILState_Ensure();
    if (PyErr_CheckSignals() != 0) raised.emplace();
    PyGILState_Release(state);
  });
  if (raised) throw py::error_already_set(*raised);
}

WithoutGil::~WithoutGil() {
  const bool gone = leaving.load(std::memory_order_relaxed) || Finalizing();
  if (gone && !IsMainThread()) StopForGood();
  OrStop([this] { PyEval_RestoreThread(state_); });
}

}  // namespace stoker
