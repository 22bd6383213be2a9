// The fake driver's controls, for tests that run with it as libcuda.so.1.
#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

#include "tests/fake_cuda/fake_cuda.h"

namespace stoker {

// The function `name` of the fake driver. Throws std::runtime_error where the process has loaded another driver, or
// none.
template <typename Function>
Function* FakeCudaControl(const char* name) {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  auto* const control = library == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(library, name));
  if (control == nullptr)
    throw std::runtime_error("libcuda.so.1 is not the fake one: set LD_LIBRARY_PATH as ctest does");
  return control;
}

// The fake driver starts anew: in the mode of this run of the tests, then what `options` add.
inline void ConfigureFakeCuda(const std::string& options = "") {
  const char* const mode = std::getenv("STOKER_FAKE_CUDA");
  const std::string text = std::string(mode == nullptr ? "mode=lazy" : mode) + (options.empty() ? "" : ",") + options;
  FakeCudaControl<decltype(fakeCudaConfigure)>("fakeCudaConfigure")(text.c_str());
}

inline uint64_t FakeCudaCalls(const char* entry) {
  return FakeCudaControl<decltype(fakeCudaCalls)>("fakeCudaCalls")(entry);
}

inline int FakeCudaRetains(int device) { return FakeCudaControl<decltype(fakeCudaRetains)>("fakeCudaRetains")(device); }

inline std::string FakeCudaViolations() {
  return FakeCudaControl<decltype(fakeCudaViolations)>("fakeCudaViolations")();
}

}  // namespace stoker
