// What every Device does alike, whether simulated, behind a driver, or behind a made-up one: the tests are in
// device_test.cc, and the test of each device in the same binary instantiates them:
//
//   INSTANTIATE_TEST_SUITE_P(Mine, DeviceConformance, testing::Values(DeviceUnderTest{"mine", MakeMine}),
//   NameOfDevice);
//
// They break no rule of device.h, and touch device memory by copies only.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "transfer/device.h"

namespace stoker {

struct DeviceUnderTest {
  std::string name;  // of letters and digits
  std::function<std::unique_ptr<Device>()> make;
  // Whether Occupy's work is certain to run still when the next calls are made.
  bool asynchronous = true;
  // Of one of the copies that Occupy makes: milliseconds each on the fastest link.
  size_t long_copy_bytes = size_t{64} << 20;
};

inline std::ostream& operator<<(std::ostream& out, const DeviceUnderTest& device) { return out << device.name; }
inline std::string NameOfDevice(const testing::TestParamInfo<DeviceUnderTest>& info) { return info.param.name; }

class DeviceConformance : public testing::TestWithParam<DeviceUnderTest> {
 protected:
  using Bytes = std::vector<std::byte>;

  static Bytes Filled(size_t bytes, int value) { return Bytes(bytes, static_cast<std::byte>(value)); }

  void SetUp() override {
    device_ = GetParam().make();
    ASSERT_NE(device_, nullptr);
    ASSERT_EQ(device_->Attach(), kOk);
    memory_ = Allocate(kBytes);
    pages_ = Pinned(kPages * kPage);
  }
  // Gives back all that was made here.
  void TearDown() override;

  std::byte* Allocate(size_t bytes);
  StreamHandle Stream();
  EventHandle Event();
  // Registered host memory, of whole pages of its own, all of this value.
  std::byte* Pinned(size_t bytes, int value = 0);

  // Submits to the stream: a long time of copies elsewhere; a copy of `value` to all of memory_; a copy of memory_ to
  // a page of the host, which is returned. The last two make no other call, for one may wait for all work.
  void Occupy(StreamHandle stream);
  void Write(int value, StreamHandle stream);
  const std::byte* Read(StreamHandle stream);

  void Record(EventHandle event, StreamHandle stream) { ASSERT_EQ(device_->RecordEvent(event, stream), kOk); }
  void Wait(StreamHandle stream, EventHandle event) { ASSERT_EQ(device_->StreamWaitEvent(stream, event), kOk); }
  void Order(StreamHandle first, EventHandle event, StreamHandle second) {
    Record(event, first);
    Wait(second, event);
  }
  void Synchronize(StreamHandle stream) { ASSERT_EQ(device_->SynchronizeStream(stream), kOk); }
  // Where that is certain.
  void ExpectRunning(EventHandle event) {
    if (GetParam().asynchronous) {
      EXPECT_EQ(device_->QueryEvent(event), DeviceError::kNotReady);
    }
  }
  static void ExpectAll(const std::byte* host, int value) {
    EXPECT_EQ(Bytes(host, host + kBytes), Filled(kBytes, value));
  }
  void ExpectReads(int value, StreamHandle stream) {
    const std::byte* const seen = Read(stream);
    Synchronize(stream);
    ExpectAll(seen, value);
  }

  static inline const std::error_code kOk = {};
  static constexpr size_t kPage = 4096;
  static constexpr size_t kBytes = 1000;

  std::unique_ptr<Device> device_;
  std::byte* memory_ = nullptr;  // kBytes of it, on the device
  std::vector<StreamHandle> streams_;

 private:
  struct Free {
    void operator()(std::byte* memory) const noexcept { std::free(memory); }
  };

  static constexpr size_t kPages = 8;

  std::byte* NextPage() {
    EXPECT_LT(used_pages_, kPages);
    return pages_ + kPage * used_pages_++;
  }

  std::byte* pages_ = nullptr;  // kPages of registered memory
  size_t used_pages_ = 0;
  std::byte* long_source_ = nullptr;
  std::vector<std::byte*> allocations_;
  std::vector<EventHandle> events_;
  std::vector<std::unique_ptr<std::byte, Free>> pinned_;
};

inline void DeviceConformance::TearDown() {
  if (device_ == nullptr) return;
  for (const StreamHandle stream : streams_) {
    EXPECT_EQ(device_->SynchronizeStream(stream), kOk);
    EXPECT_EQ(device_->DestroyStream(stream), kOk);
  }
  for (const EventHandle event : events_) EXPECT_EQ(device_->DestroyEvent(event), kOk);
  for (std::byte* const memory : allocations_) EXPECT_EQ(device_->Free(memory), kOk);
  for (const auto& memory : pinned_) EXPECT_EQ(device_->UnregisterHost(memory.get()), kOk);
  device_->Detach();
  device_.reset();
}

inline std::byte* DeviceConformance::Allocate(size_t bytes) {
  void* memory = nullptr;
  EXPECT_EQ(device_->Allocate(bytes, memory), kOk);
  allocations_.push_back(static_cast<std::byte*>(memory));
  return allocations_.back();
}

inline StreamHandle DeviceConformance::Stream() {
  StreamHandle stream = 0;
  EXPECT_EQ(device_->CreateStream(stream), kOk);
  streams_.push_back(stream);
  return stream;
}

inline EventHandle DeviceConformance::Event() {
  EventHandle event = 0;
  EXPECT_EQ(device_->CreateEvent(event), kOk);
  events_.push_back(event);
  return event;
}

inline std::byte* DeviceConformance::Pinned(size_t bytes, int value) {
  const size_t size = (bytes + kPage - 1) / kPage * kPage;
  pinned_.emplace_back(static_cast<std::byte*>(std::aligned_alloc(kPage, size)));
  std::byte* const memory = pinned_.back().get();
  std::memset(memory, value, size);
  EXPECT_EQ(device_->RegisterHost(memory, size), kOk);
  return memory;
}

inline void DeviceConformance::Occupy(StreamHandle stream) {
  const size_t bytes = GetParam().long_copy_bytes;
  if (long_source_ == nullptr) long_source_ = Pinned(bytes);
  std::byte* const target = Allocate(bytes);
  for (int i = 0; i < 64; ++i) ASSERT_EQ(device_->CopyToDeviceAsync(target, long_source_, bytes, stream), kOk);
}

inline void DeviceConformance::Write(int value, StreamHandle stream) {
  std::byte* const host = NextPage();
  std::memset(host, value, kBytes);
  ASSERT_EQ(device_->CopyToDeviceAsync(memory_, host, kBytes, stream), kOk);
}

inline const std::byte* DeviceConformance::Read(StreamHandle stream) {
  std::byte* const host = NextPage();
  EXPECT_EQ(device_->CopyToHostAsync(host, memory_, kBytes, stream), kOk);
  return host;
}

}  // namespace stoker
