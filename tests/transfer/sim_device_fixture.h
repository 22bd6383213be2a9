// A simulated device for tests, with short ways to its memory, streams and events.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "transfer/sim_device.h"

namespace stoker {

// At one byte a millisecond a copy of kLong bytes takes over an hour: it is certainly running while a test looks, and
// the device's destructor finishes it at once.
inline constexpr SimOptions kSlow = {.bytes_per_second = 1e3, .latency_ns = 0};
inline constexpr size_t kLong = size_t{1} << 22;
inline constexpr size_t kShort = 4;

using Bytes = std::vector<std::byte>;

inline Bytes Filled(size_t bytes, int value) { return Bytes(bytes, static_cast<std::byte>(value)); }

class SimDeviceTest : public testing::Test {
 protected:
  void Start(const SimOptions& options = {}) {
    device_ = std::make_unique<SimDevice>(options);
    ASSERT_EQ(device_->Attach(), std::error_code());
  }
  std::byte* Allocate(size_t bytes) {
    void* memory = nullptr;
    EXPECT_EQ(device_->Allocate(bytes, memory), std::error_code());
    return static_cast<std::byte*>(memory);
  }
  StreamHandle Stream() {
    StreamHandle stream = 0;
    EXPECT_EQ(device_->CreateStream(stream), std::error_code());
    return stream;
  }
  EventHandle Event() {
    EventHandle event = 0;
    EXPECT_EQ(device_->CreateEvent(event), std::error_code());
    return event;
  }
  void Pin(Bytes& host) { ASSERT_EQ(device_->RegisterHost(host.data(), host.size()), std::error_code()); }
  // A copy of an hour towards the device, from memory of its own.
  void Occupy(StreamHandle stream) {
    if (long_source_.empty()) {
      long_source_.resize(kLong);
      Pin(long_source_);
      long_target_ = Allocate(kLong);
    }
    ASSERT_EQ(device_->CopyToDeviceAsync(long_target_, long_source_.data(), kLong, stream), std::error_code());
  }

  Bytes long_source_;  // outlives the device, which still reads it
  std::byte* long_target_ = nullptr;
  std::unique_ptr<SimDevice> device_;
};

}  // namespace stoker
