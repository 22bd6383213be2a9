// What went wrong with which sample, kept for the caller's thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <system_error>
#include <vector>

#include "decode/decode_error.h"
#include "transfer/mutex.h"

namespace stoker {

struct BadSample {
  int64_t batch = 0;
  uint64_t position = 0;  // the place in the epoch that it was to fill
  uint64_t attempt = 0;   // 0: it belonged there; n: it was the n-th replacement
  uint64_t id = 0;
  std::error_code error;
  Diagnosis diagnosis;
};

// "JPEG, truncated after 512 bytes (...) at byte 511": format, cause and place in words.
std::string ReasonOf(const std::error_code& error, const Diagnosis& diagnosis);

// Threads: thread-safe. Allocates, but only for bad samples.
class BadSamples {
 public:
  void Add(const BadSample& sample) EXCLUDES(mutex_);
  // Takes out what a batch met, in the order of position and attempt: the same in every run.
  std::vector<BadSample> Take(int64_t batch) EXCLUDES(mutex_);
  // Forgets everything that was not taken.
  void Clear() EXCLUDES(mutex_);

  void CountWarning() noexcept { warnings_.fetch_add(1, std::memory_order_relaxed); }
  // A counter of its own: orders nothing.
  uint64_t warnings() const noexcept { return warnings_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> warnings_{0};
  Mutex mutex_;
  std::vector<BadSample> samples_ GUARDED_BY(mutex_);
};

}  // namespace stoker
