// What memory the simulated device knows: its own, and the host ranges that are registered with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <system_error>

namespace stoker {

// Disjoint address ranges.
class RangeSet {
 public:
  // False for an empty range and for one that overlaps another.
  bool Add(const void* begin, size_t bytes);
  // The size of the range that starts exactly at `begin`, now forgotten; 0 if there is none.
  size_t Remove(const void* begin);
  bool Overlaps(const void* begin, size_t bytes) const;
  // Whether one range holds all of it.
  bool Contains(const void* begin, size_t bytes) const;
  const std::map<uintptr_t, uintptr_t>& ends() const { return ends_; }

 private:
  std::map<uintptr_t, uintptr_t> ends_;  // begin -> end
};

// Threads: none of its own; the device guards it.
// Owns: the device memory, which is host memory from malloc, so that AddressSanitizer sees stray accesses to it.
class SimMemory {
 public:
  explicit SimMemory(size_t capacity_bytes) : capacity_bytes_(capacity_bytes) {}
  ~SimMemory();
  SimMemory(const SimMemory&) = delete;
  SimMemory& operator=(const SimMemory&) = delete;

  std::error_code Allocate(size_t bytes, void*& memory);
  // The rest return false for what they do not know; Free and Unregister take the very pointer of Allocate and
  // Register.
  bool Free(void* memory);
  bool Register(void* memory, size_t bytes);
  bool Unregister(void* memory);

  bool IsAllocated(const void* memory, size_t bytes) const { return allocations_.Contains(memory, bytes); }
  bool IsRegistered(const void* memory, size_t bytes) const { return registered_.Contains(memory, bytes); }
  // Ordinary host memory: neither device memory nor, even in part, registered.
  bool IsPageable(const void* memory, size_t bytes) const {
    return memory != nullptr && !registered_.Overlaps(memory, bytes) && !allocations_.Overlaps(memory, bytes);
  }

 private:
  const size_t capacity_bytes_;
  size_t allocated_bytes_ = 0;
  RangeSet allocations_;
  RangeSet registered_;
};

}  // namespace stoker
