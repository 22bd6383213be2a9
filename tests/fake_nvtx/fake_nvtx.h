// A tool that listens to NVTX: how often ranges were opened and closed.
#pragma once

#include <cstdint>

struct FakeNvtxCounts {
  int64_t opened = 0;  // of a name, in a domain
  int64_t closed = 0;  // of the domain; names do not say what they close
  int64_t deepest = 0;
  int64_t unbalanced = 0;  // closed in a thread that had none open
};
// The exported CountsOfFakeNvtx.
using FakeNvtxCountsFn = void (*)(const char* domain, const char* name, FakeNvtxCounts* counts);
