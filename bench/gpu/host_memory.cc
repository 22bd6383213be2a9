#include <liburing.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <system_error>
#include <vector>

#include "bench/gpu/parts.h"

namespace stoker {
namespace {

using nlohmann::json;

constexpr int kRounds = 3;  // each takes tenths of a second

json Registration(const Gpu& gpu, size_t bytes, Pages pages, bool faulted) {
  std::vector<double> fault_in, lock, unlock;
  double huge_share = 0;
  for (int i = 0; i < kRounds; ++i) {
    HostMemory memory(bytes, pages);  // anew, so that it is not faulted in
    if (faulted) fault_in.push_back(HostSeconds([&] { memory.FaultIn(); }));
    lock.push_back(HostSeconds([&] { memory.Register(gpu.device); }));
    huge_share = memory.HugeShare();
    unlock.push_back(HostSeconds([&] { memory.Unregister(); }));
  }
  return {{"bytes", bytes},
          {"pages", pages == Pages::kHuge ? "huge" : "4 KiB"},
          {"faulted_in", faulted},
          {"huge_share", huge_share},
          {"fault_in_seconds", fault_in},
          {"register_seconds", lock},
          {"unregister_seconds", unlock}};
}

std::string Answer(int result) { return result == 0 ? "accepted" : std::generic_category().message(-result); }

// A ring with one fixed buffer.
class FixedBufferRing {
 public:
  FixedBufferRing() : made_(io_uring_queue_init(4, &ring_, 0)) {}
  ~FixedBufferRing() {
    if (made_ == 0) io_uring_queue_exit(&ring_);
  }
  FixedBufferRing(const FixedBufferRing&) = delete;
  FixedBufferRing& operator=(const FixedBufferRing&) = delete;

  int made() const { return made_; }
  int Register(std::span<std::byte> buffer) {
    const iovec range = {buffer.data(), buffer.size()};
    return io_uring_register_buffers(&ring_, &range, 1);
  }
  // Reads the file from its beginning into the fixed buffer; the bytes read, or an error below 0.
  int Read(int file, std::span<std::byte> to) {
    io_uring_sqe* const entry = io_uring_get_sqe(&ring_);
    io_uring_prep_read_fixed(entry, file, to.data(), static_cast<unsigned>(to.size()), 0, 0);
    io_uring_submit(&ring_);
    io_uring_cqe* done = nullptr;
    if (const int error = io_uring_wait_cqe(&ring_, &done); error < 0) return error;
    const int result = done->res;
    io_uring_cqe_seen(&ring_, done);
    return result;
  }

 private:
  io_uring ring_ = {};
  int made_;
};

// What the ring says to memory that CUDA does not know.
std::string AnswerToPlainMemory(size_t bytes) {
  HostMemory memory(bytes, Pages::kHuge);
  memory.FaultIn();
  FixedBufferRing ring;
  return Answer(ring.Register(memory.bytes()));
}

std::string AnswerInTheOtherOrder(const Gpu& gpu, size_t bytes) {
  HostMemory memory(bytes, Pages::kHuge);
  memory.FaultIn();
  FixedBufferRing ring;
  if (const int error = ring.Register(memory.bytes())) return Answer(error);
  const std::error_code error = gpu.device.RegisterHost(memory.data(), memory.size());
  if (!error) (void)gpu.device.UnregisterHost(memory.data());
  return error ? error.message() : "accepted";
}

// File -> ring -> page-locked memory -> device -> back: whether the bytes are the file's.
bool CarriesBytes(const Gpu& gpu, FixedBufferRing& ring, const HostMemory& pinned) {
  std::vector<std::byte> contents(pinned.size());
  for (size_t i = 0; i < contents.size(); ++i) contents[i] = static_cast<std::byte>(i * 7 + i / 251);
  const int file = memfd_create("gpu_bench", 0);
  if (file < 0) return false;
  const bool written = write(file, contents.data(), contents.size()) == static_cast<ssize_t>(contents.size());
  const bool read = written && ring.Read(file, pinned.bytes()) == static_cast<int>(contents.size());
  close(file);
  const DeviceMemory there(gpu.device, pinned.size());
  std::vector<std::byte> seen(pinned.size());
  const Stream stream(gpu.device);
  Check(gpu.device.CopyToDeviceAsync(there.get(), pinned.data(), pinned.size(), stream), "copy to the device");
  Check(gpu.device.CopyToHostAsync(seen.data(), there.get(), seen.size(), stream), "copy to the host");
  stream.Synchronize();
  return read && seen == contents;
}

json FixedBuffers(const Gpu& gpu, json& checks) {
  constexpr size_t kBytes = size_t{4} << 20;
  FixedBufferRing ring;
  if (ring.made() != 0) return {{"io_uring", Answer(ring.made())}};
  HostMemory pinned(kBytes, Pages::kHuge);
  pinned.FaultIn();
  pinned.Register(gpu.device);
  const int registered = ring.Register(pinned.bytes());
  if (registered == 0) checks["what io_uring read into page-locked memory arrives"] = CarriesBytes(gpu, ring, pinned);
  return {{"io_uring", "there"},
          {"plain_memory", AnswerToPlainMemory(kBytes)},
          {"page_locked_memory", Answer(registered)},
          {"fixed_buffer_page_locked", AnswerInTheOtherOrder(gpu, kBytes)}};
}

}  // namespace

json MeasureHostMemory(const Gpu& gpu) {
  json registrations = json::array();
  for (size_t bytes = gpu.effort.largest_bytes / 16; bytes <= gpu.effort.largest_bytes; bytes *= 4) {
    for (const Pages pages : {Pages::kSmall, Pages::kHuge}) {
      for (const bool faulted : {false, true}) registrations.push_back(Registration(gpu, bytes, pages, faulted));
    }
  }
  json checks = json::object();
  json fixed_buffers = FixedBuffers(gpu, checks);
  return {{"registrations", registrations}, {"fixed_buffers", fixed_buffers}, {"checks", checks}};
}

}  // namespace stoker
