#include "loader/read_buffers.h"

#include <algorithm>
#include <new>

namespace stoker {

ReadBuffers::ReadBuffers(uint32_t buffers, size_t buffer_bytes, size_t spare_bytes, NowFn now,
                         std::function<void()> on_free)
    : buffer_bytes_(buffer_bytes),
      spare_bytes_(spare_bytes),
      now_(now),
      on_free_(std::move(on_free)),
      arena_(buffers * buffer_bytes),
      buffers_(buffers) {
  free_.reserve(buffers);
  for (uint32_t i = buffers; i > 0; --i) free_.push_back(i - 1);
}

ReadBuffers::~ReadBuffers() = default;

ReadBuffers::Outcome ReadBuffers::TryLease(size_t bytes, Lease& lease) {
  lease.Release();
  MutexLock lock(mutex_);
  if (free_.empty()) return Outcome::kNoneFree;
  const bool oversized = bytes > buffer_bytes_;
  if (oversized && oversized_bytes_ > 0 && oversized_bytes_ + bytes > spare_bytes_) return Outcome::kNoneFree;
  Buffer& buffer = buffers_[free_.back()];
  if (oversized) {
    try {
      buffer.oversized = Arena(bytes);
    } catch (const std::bad_alloc&) {
      return Outcome::kNoMemory;
    }
    oversized_bytes_ += bytes;
    oversized_bytes_peak_ = std::max(oversized_bytes_peak_, oversized_bytes_);
  }
  lease.owner_ = this;
  lease.buffer_ = free_.back();
  lease.memory_ =
      oversized ? std::span(reinterpret_cast<uint8_t*>(buffer.oversized.data()), bytes)
                : std::span(reinterpret_cast<uint8_t*>(arena_.data()) + lease.buffer_ * buffer_bytes_, buffer_bytes_);
  free_.pop_back();
  return Outcome::kLeased;
}

void ReadBuffers::Return(uint32_t buffer, int64_t sample) {
  bool enough = false;
  {
    MutexLock lock(mutex_);
    Buffer& returned = buffers_[buffer];
    returned.freed_ns = now_();
    returned.freed_by = sample;
    enough = returned.oversized.size() > 0;
    oversized_bytes_ -= returned.oversized.size();
    returned.oversized = Arena();
    free_.push_back(buffer);
    // Waking the feeder for every buffer would cost a context switch a sample; a quarter of them are refilled at once.
    enough = enough || free_.size() == std::max<size_t>(1, buffers_.size() / 4);
  }
  if (enough) on_free_();
}

size_t ReadBuffers::oversized_bytes_peak() const {
  MutexLock lock(mutex_);
  return oversized_bytes_peak_;
}

uint32_t ReadBuffers::leased() const {
  MutexLock lock(mutex_);
  return static_cast<uint32_t>(buffers_.size() - free_.size());
}

void ReadBuffers::Abandon() noexcept {
  arena_.Abandon();
  MutexLock lock(mutex_);
  for (Buffer& buffer : buffers_) buffer.oversized.Abandon();
}

int64_t ReadBuffers::Lease::freed_ns() const noexcept { return owner_->buffers_[buffer_].freed_ns; }
int64_t ReadBuffers::Lease::freed_by() const noexcept { return owner_->buffers_[buffer_].freed_by; }

void ReadBuffers::Lease::ReleaseBy(int64_t sample) noexcept {
  memory_ = {};
  if (ReadBuffers* owner = std::exchange(owner_, nullptr)) owner->Return(buffer_, sample);
}

}  // namespace stoker
