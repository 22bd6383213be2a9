// A device on the host with a modelled copy engine, for tests and `--device sim`.
#pragma once

#include <cstdint>
#include <memory>

#include "transfer/device.h"

namespace stoker {

struct SimOptions {
  double bytes_per_second = 24e9;  // PCIe 4 x16, pinned (measured values in transfer/README of each link lie near it)
  int64_t latency_ns = 8'000;      // per copy
  double pageable_factor = 0.6;    // unregistered host memory copies at this share, and synchronously
  size_t memory_bytes = size_t{8} << 30;
  int64_t fail_copy_at = -1;  // the n-th copy (from 0) fails; -1: none
};

std::unique_ptr<Device> MakeSimDevice(const SimOptions& options = {});

}  // namespace stoker
