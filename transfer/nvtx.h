// Ranges in the timelines of NVIDIA's tools (NVTX, domain "stoker"): where no tool listens, a look at a pointer.
#pragma once

#include <cstdint>

namespace stoker {

enum class NvtxName : uint8_t { kDecode, kAugment, kCopy, kNext };

// Looks whether a tool has put itself into this process (NVTX_INJECTION64_PATH), the first time it is called. Ranges
// before are not seen. Without NVTX at build time there is never one.
// Threads: any.
void AttachNvtx() noexcept;

// The tool's handle of our domain, null where there is no tool. Written once, by AttachNvtx before the threads that
// work for its caller begin.
extern void* nvtx_domain;

// The calling thread does something while this lives.
class NvtxRange {
 public:
  explicit NvtxRange(NvtxName name) noexcept {
    if (nvtx_domain != nullptr) Push(name);
  }
  ~NvtxRange() {
    if (nvtx_domain != nullptr) Pop();
  }
  NvtxRange(const NvtxRange&) = delete;
  NvtxRange& operator=(const NvtxRange&) = delete;

 private:
  static void Push(NvtxName name) noexcept;
  static void Pop() noexcept;
};

}  // namespace stoker
