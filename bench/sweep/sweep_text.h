// A sweep's result in words, for a terminal.
#pragma once

#include <string>

#include "bench/sweep/sweep_json.h"

namespace stoker {

// Lines that end in '\n'.
std::string FormatSweep(const SweepResult& result, const SweepFacts& facts);

}  // namespace stoker
