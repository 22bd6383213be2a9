// Metadata reads side by side: what a scan of files waits for.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <system_error>
#include <thread>
#include <vector>

namespace stoker {

// Calls `work(i)` once for each i below `count`, on this thread and others, and returns when all are done.
// `work` must not throw. Enough threads to keep cold metadata reads going side by side; more gain nothing.
template <typename Work>
void SideBySide(size_t count, Work work) {
  constexpr size_t kThreads = 8;
  std::atomic<size_t> next{0};  // hands out numbers; orders nothing, the join does
  const auto run = [&] {
    for (size_t i = next.fetch_add(1, std::memory_order_relaxed); i < count;
         i = next.fetch_add(1, std::memory_order_relaxed)) {
      work(i);
    }
  };
  std::vector<std::jthread> threads;  // joined in the end, whatever happens
  for (size_t i = 1; i < std::min(kThreads, count); ++i) {
    try {
      threads.emplace_back(run);
    } catch (const std::system_error&) {
      break;  // no more threads to be had: these do it
    }
  }
  run();
}

}  // namespace stoker
