#include "transfer/arena.h"

#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <new>
#include <span>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace stoker {
namespace {

constexpr size_t kPageBytes = 4096;
// More gain nothing: the kernel's zeroing of pages is then limited by memory (rapidsai/rmm#2496).
constexpr size_t kFaultThreads = 4;
constexpr int kMaxNodes = 1024;
constexpr size_t kBitsPerWord = 8 * sizeof(unsigned long);

size_t RoundUp(size_t bytes, size_t step) { return (bytes + step - 1) / step * step; }

void FaultInPages(std::span<std::byte> pages) noexcept {
  if (madvise(pages.data(), pages.size(), MADV_POPULATE_WRITE) == 0) return;
  // Before Linux 5.14. Volatile, so that the writes are not left out.
  for (size_t at = 0; at < pages.size(); at += kPageBytes) static_cast<volatile std::byte*>(pages.data())[at] = {};
}

}  // namespace

Arena::Arena(size_t bytes, Pages pages) : size_(bytes) {
  if (bytes == 0) return;
  const size_t spare = bytes >= kHugePageBytes ? kHugePageBytes : 0;
  void* memory = mmap(nullptr, bytes + spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  data_ = static_cast<std::byte*>(memory);
  if (spare > 0) {
    const size_t before =
        RoundUp(reinterpret_cast<uintptr_t>(data_), kHugePageBytes) - reinterpret_cast<uintptr_t>(data_);
    const size_t used = RoundUp(bytes, kPageBytes);
    if (before > 0) munmap(data_, before);
    data_ += before;
    if (const size_t after = RoundUp(bytes + spare, kPageBytes) - before - used; after > 0) munmap(data_ + used, after);
  }
  // A kernel that refuses costs speed alone, or memory.
  madvise(data_, bytes, pages == Pages::kHuge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

void Arena::FaultIn(int node) noexcept {
  if (data_ == nullptr) return;
  if (node >= 0 && node < kMaxNodes) {
    std::array<unsigned long, kMaxNodes / kBitsPerWord> nodes = {};
    const auto number = static_cast<unsigned>(node);
    nodes[number / kBitsPerWord] = 1ul << (number % kBitsPerWord);
    syscall(SYS_mbind, data_, RoundUp(size_, kPageBytes), MPOL_PREFERRED, nodes.data(), kMaxNodes + 1, 0);
  }
  const size_t part = std::max(RoundUp(size_ / kFaultThreads, kHugePageBytes), kHugePageBytes);
  std::vector<std::thread> threads;
  for (size_t from = 0; from < size_; from += part) {
    const std::span<std::byte> pages(data_ + from, std::min(part, size_ - from));
    try {
      threads.emplace_back(FaultInPages, pages);
    } catch (const std::system_error&) {  // no thread to be had
      FaultInPages(pages);
    }
  }
  for (std::thread& thread : threads) thread.join();
}

Arena::~Arena() {
  if (data_ != nullptr) munmap(data_, size_);
}

Arena::Arena(Arena&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Arena& Arena::operator=(Arena&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

void Arena::KeepFromChildren() noexcept {
  if (data_ != nullptr) madvise(data_, size_, MADV_DONTFORK);
}

void Arena::Abandon() noexcept {
  data_ = nullptr;
  size_ = 0;
}

}  // namespace stoker
