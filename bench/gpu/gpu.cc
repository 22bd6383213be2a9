#include "bench/gpu/gpu.h"

#include <sys/mman.h>

#include <cstring>
#include <fstream>
#include <new>
#include <sstream>

#include "transfer/arena.h"

namespace stoker {
namespace {

constexpr size_t kSmallPageBytes = 4096;

// Where memory that may lie on huge pages begins.
std::byte* AlignUp(void* memory) {
  constexpr uintptr_t kAlign = Arena::kHugePageBytes;
  return reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(memory) + kAlign - 1) / kAlign * kAlign);
}

}  // namespace

HostMemory::HostMemory(size_t bytes, Pages pages)
    : bytes_((bytes + kSmallPageBytes - 1) / kSmallPageBytes * kSmallPageBytes) {
  const size_t mapped = bytes_ + Arena::kHugePageBytes;
  void* const memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  data_ = AlignUp(memory);
  // What lies before and behind goes back at once, so that there is one range to give back in the end.
  auto* const begin = static_cast<std::byte*>(memory);
  if (data_ != begin) munmap(begin, static_cast<size_t>(data_ - begin));
  if (begin + mapped != data_ + bytes_) munmap(data_ + bytes_, static_cast<size_t>(begin + mapped - data_) - bytes_);
  madvise(data_, bytes_, pages == Pages::kHuge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

HostMemory::~HostMemory() {
  if (registered_with_ != nullptr) (void)registered_with_->UnregisterHost(data_);
  munmap(data_, bytes_);
}

void HostMemory::Register(Device& device) {
  Check(device.RegisterHost(data_, bytes_), "page-lock host memory");
  registered_with_ = &device;
}

void HostMemory::Unregister() {
  Check(registered_with_->UnregisterHost(data_), "unlock host memory");
  registered_with_ = nullptr;
}

void HostMemory::FaultIn() noexcept {
  for (size_t at = 0; at < bytes_; at += kSmallPageBytes) data_[at] = std::byte{1};
}

double HostMemory::HugeShare() const {
  std::ifstream maps("/proc/self/smaps");
  if (!maps) return -1;
  const auto first = reinterpret_cast<uintptr_t>(data_);
  bool ours = false;
  size_t huge_kb = 0;
  for (std::string line; std::getline(maps, line);) {
    uintptr_t begin = 0, end = 0;
    char dash = 0;
    if (std::istringstream range(line); range >> std::hex >> begin >> dash >> end && dash == '-') {
      ours = begin >= first && end <= first + bytes_;
    } else if (ours && line.starts_with("AnonHugePages:")) {
      huge_kb += std::stoull(line.substr(std::strlen("AnonHugePages:")));
    }
  }
  return static_cast<double>(huge_kb << 10) / static_cast<double>(bytes_);
}

}  // namespace stoker
