// How the fake driver behaves, in one line of text.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "transfer/cuda_api.h"
#include "transfer/sim_options.h"

namespace stoker {

// The n-th call (from 1) of an entry point does nothing but return `result`.
struct FakeFault {
  std::string entry;
  uint64_t at = 0;
  CuResult result = CuResult::kSuccess;
};

struct FakeOptions {
  int devices = 2;
  int version = 13'000;        // what cuDriverGetVersion says
  std::set<std::string> lack;  // entry points that this driver is too old to have
  std::vector<FakeFault> faults;
  SimOptions sim;
};

// A comma list, later words beat earlier ones: devices=2, version=12040, mode=modelled|lazy|eager|random, seed=3,
// bytes_per_second=24e9, latency_ns=8000, memory_bytes=1048576, fail_copy_at=2, lack=cuEventRecord,
// fail=cuMemAlloc_v2:2:2 (the second call returns 2; once a fault). Throws std::invalid_argument for anything else.
FakeOptions ParseFakeOptions(std::string_view text);

// The name without the number of its ABI: cuMemAlloc_v2 and cuMemAlloc are one entry point.
std::string PlainName(std::string_view entry);

}  // namespace stoker
