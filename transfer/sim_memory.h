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
  // The size of the range that starts exactly at `begin`; 0 if there is none.
  size_t SizeAt(const void* begin) const;
  // begin -> end
  const std::map<uintptr_t, uintptr_t>& ends() const { return ends_; }

 private:
  std::map<uintptr_t, uintptr_t> ends_;
};

// Threads: none of its own; the device guards it.
// Owns: the device memory. Where the host may access it, it is from malloc, so that AddressSanitizer sees stray
// accesses; otherwise each block is mapped twice, once without any permission at the address that is handed out, and
// once where only the engines know.
class SimMemory {
 public:
  SimMemory(size_t capacity_bytes, bool host_may_access)
      : capacity_bytes_(capacity_bytes), host_may_access_(host_may_access) {}
  ~SimMemory();
  SimMemory(const SimMemory&) = delete;
  SimMemory& operator=(const SimMemory&) = delete;

  std::error_code Allocate(size_t bytes, void*& memory);
  // The rest return false for what they do not know; Free and Unregister take the very pointer of Allocate and
  // Register.
  bool Free(void* memory);
  bool Register(void* memory, size_t bytes);
  bool Unregister(void* memory);

  // Where an engine finds device memory. Requires: allocated.
  std::byte* EngineAddress(const void* memory) const;

  size_t free_bytes() const { return capacity_bytes_ - allocated_bytes_; }
  const RangeSet& allocations() const { return allocations_; }
  const RangeSet& registrations() const { return registered_; }
  // Ordinary host memory: neither device memory nor, even in part, registered.
  bool IsPageable(const void* memory, size_t bytes) const {
    return memory != nullptr && !registered_.Overlaps(memory, bytes) && !allocations_.Overlaps(memory, bytes);
  }

 private:
  struct Block {
    std::byte* memory = nullptr;  // as handed out
    std::byte* engine = nullptr;  // as the engines see it
  };

  // An empty block where the system has none.
  Block Map(size_t bytes) const;
  void Unmap(const Block& block, size_t bytes) const noexcept;

  const size_t capacity_bytes_;
  const bool host_may_access_;
  size_t allocated_bytes_ = 0;
  RangeSet allocations_;
  std::map<uintptr_t, Block> blocks_;  // by what is handed out
  RangeSet registered_;
};

}  // namespace stoker
