#include "transfer/sim_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <iterator>

#include "transfer/device.h"

namespace stoker {
namespace {

constexpr size_t kAlignment = 256;  // what cuMemAlloc promises
constexpr int kPoison = 0xCD;       // fresh device memory: reading what no copy wrote gives the same bytes every time

size_t RoundUp(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

uintptr_t Address(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

}  // namespace

bool RangeSet::Add(const void* begin, size_t bytes) {
  if (begin == nullptr || bytes == 0 || bytes > UINTPTR_MAX - Address(begin) || Overlaps(begin, bytes)) return false;
  ends_.emplace(Address(begin), Address(begin) + bytes);
  return true;
}

size_t RangeSet::Remove(const void* begin) {
  const auto range = ends_.find(Address(begin));
  if (range == ends_.end()) return 0;
  const size_t bytes = range->second - range->first;
  ends_.erase(range);
  return bytes;
}

bool RangeSet::Overlaps(const void* begin, size_t bytes) const {
  const auto after = ends_.lower_bound(Address(begin) + bytes);
  return after != ends_.begin() && std::prev(after)->second > Address(begin);
}

bool RangeSet::Contains(const void* begin, size_t bytes) const {
  const auto after = ends_.upper_bound(Address(begin));
  if (after == ends_.begin()) return false;
  const uintptr_t end = std::prev(after)->second;
  return end > Address(begin) && bytes <= end - Address(begin);
}

size_t RangeSet::SizeAt(const void* begin) const {
  const auto range = ends_.find(Address(begin));
  return range == ends_.end() ? 0 : range->second - range->first;
}

SimMemory::~SimMemory() {
  for (const auto& [begin, block] : blocks_) Unmap(block, allocations_.SizeAt(block.memory));
}

SimMemory::Block SimMemory::Map(size_t bytes) const {
  if (host_may_access_) {
    auto* const block = static_cast<std::byte*>(std::aligned_alloc(kAlignment, RoundUp(bytes, kAlignment)));
    return {block, block};
  }
  const int file = memfd_create("device memory", MFD_CLOEXEC);
  if (file < 0) return {};
  Block block;
  if (ftruncate(file, static_cast<off_t>(bytes)) == 0) {
    void* const memory = mmap(nullptr, bytes, PROT_NONE, MAP_SHARED, file, 0);
    void* const engine = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory != MAP_FAILED && engine != MAP_FAILED) {
      block = {static_cast<std::byte*>(memory), static_cast<std::byte*>(engine)};
    } else {
      if (memory != MAP_FAILED) munmap(memory, bytes);
      if (engine != MAP_FAILED) munmap(engine, bytes);
    }
  }
  close(file);
  return block;
}

void SimMemory::Unmap(const Block& block, size_t bytes) const noexcept {
  if (host_may_access_) return std::free(block.memory);
  munmap(block.memory, bytes);
  munmap(block.engine, bytes);
}

std::error_code SimMemory::Allocate(size_t bytes, void*& memory) {
  if (bytes == 0) return DeviceError::kInvalidValue;
  if (bytes > free_bytes()) return DeviceError::kOutOfMemory;
  const Block block = Map(bytes);
  if (block.memory == nullptr) return DeviceError::kOutOfMemory;
  std::memset(block.engine, kPoison, bytes);
  allocations_.Add(block.memory, bytes);
  blocks_.emplace(Address(block.memory), block);
  allocated_bytes_ += bytes;
  memory = block.memory;
  return {};
}

bool SimMemory::Free(void* memory) {
  if (memory == nullptr) return true;
  const size_t bytes = allocations_.Remove(memory);
  if (bytes == 0) return false;
  allocated_bytes_ -= bytes;
  Unmap(blocks_.extract(Address(memory)).mapped(), bytes);
  return true;
}

std::byte* SimMemory::EngineAddress(const void* memory) const {
  const Block& block = std::prev(blocks_.upper_bound(Address(memory)))->second;
  return block.engine + (Address(memory) - Address(block.memory));
}

bool SimMemory::Register(void* memory, size_t bytes) {
  return !allocations_.Overlaps(memory, bytes) && registered_.Add(memory, bytes);
}

bool SimMemory::Unregister(void* memory) { return registered_.Remove(memory) > 0; }

}  // namespace stoker
