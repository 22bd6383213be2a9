#include "transfer/sim_memory.h"

#include <cstdlib>
#include <cstring>
#include <iterator>

#include "transfer/device.h"

namespace stoker {
namespace {

constexpr size_t kAlignment = 256;  // what cuMemAlloc promises
constexpr int kPoison = 0xCD;       // fresh device memory: reading what no copy wrote gives the same bytes every time

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

SimMemory::~SimMemory() {
  for (const auto& [begin, end] : allocations_.ends()) std::free(reinterpret_cast<void*>(begin));
}

std::error_code SimMemory::Allocate(size_t bytes, void*& memory) {
  if (bytes == 0) return DeviceError::kInvalidValue;
  if (bytes > capacity_bytes_ - allocated_bytes_) return DeviceError::kOutOfMemory;
  void* const block = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
  if (block == nullptr) return DeviceError::kOutOfMemory;
  std::memset(block, kPoison, bytes);
  allocations_.Add(block, bytes);
  allocated_bytes_ += bytes;
  memory = block;
  return {};
}

bool SimMemory::Free(void* memory) {
  if (memory == nullptr) return true;
  const size_t bytes = allocations_.Remove(memory);
  if (bytes == 0) return false;
  allocated_bytes_ -= bytes;
  std::free(memory);
  return true;
}

bool SimMemory::Register(void* memory, size_t bytes) {
  return !allocations_.Overlaps(memory, bytes) && registered_.Add(memory, bytes);
}

bool SimMemory::Unregister(void* memory) { return registered_.Remove(memory) > 0; }

}  // namespace stoker
