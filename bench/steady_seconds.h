#pragma once

#include <chrono>

namespace stoker {

// On a clock that never goes back.
inline double SteadySeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace stoker
