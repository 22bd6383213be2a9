// Waiting without Python's lock, and still hearing Ctrl-C.
#pragma once

#include <cxxabi.h>
#include <pybind11/pybind11.h>

namespace stoker {

// From here on every thread but the main one that comes out of WithoutGil stops there for good, as Python's own daemon
// threads do: the interpreter is about to go.
void Leave() noexcept;

[[noreturn]] void StopForGood() noexcept;

// Runs what may wait for Python's lock. Where the interpreter goes meanwhile, Python ends every other thread that wants
// the lock by unwinding its stack, which C++ turns into an abort: such a thread stops here for good instead.
template <typename Call>
void OrStop(Call call) {
  try {
    call();
  } catch (const abi::__forced_unwind&) {
    StopForGood();
  }
}

// Raises what a signal handler raised (KeyboardInterrupt), as py::error_already_set. Requires: no GIL.
void CheckSignals();

// Lets other Python threads run while it lives.
class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) {}
  ~WithoutGil();
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

}  // namespace stoker
