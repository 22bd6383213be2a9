#include "transfer/ring.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstring>
#include <tuple>

namespace stoker {
namespace {

constexpr size_t kCacheLineBytes = 64;
constexpr size_t kPageBytes = 4096;

size_t RoundUp(size_t bytes, size_t step) { return (bytes + step - 1) / step * step; }

// Slots that a device copies from begin on huge pages, as large ones do; small ones would waste most of one.
size_t SlotStride(size_t slot_bytes, bool for_device) {
  const bool huge = for_device || slot_bytes >= 16 * Arena::kHugePageBytes;
  return RoundUp(slot_bytes, huge ? Arena::kHugePageBytes : kPageBytes);
}

}  // namespace

int64_t ThreadCpuNow() noexcept {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  constexpr int64_t kNsPerSecond = 1'000'000'000;
  return time.tv_sec * kNsPerSecond + time.tv_nsec;
}

int64_t SteadyNow() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

SlotLayout::SlotLayout(uint32_t batch_size, std::vector<SlotField> fields)
    : batch_size_(batch_size), fields_(std::move(fields)) {
  for (SlotField& field : fields_) {
    field.offset = bytes_;
    bytes_ += RoundUp(field.sample_bytes * batch_size, kCacheLineBytes);
  }
}

std::span<std::byte> SampleSlot::bytes(size_t field) const noexcept {
  const SlotField& place = slot_->ring->layout().fields()[field];
  return {slot_->data + place.offset + index_ * place.sample_bytes, place.sample_bytes};
}

void SampleSlot::Set(size_t field, int64_t value) const noexcept {
  const std::span<std::byte> place = bytes(field);
  assert(place.size() == sizeof value);
  std::memcpy(place.data(), &value, sizeof value);
}

void SampleSlot::Set(size_t field, uint8_t value) const noexcept {
  const std::span<std::byte> place = bytes(field);
  assert(place.size() == sizeof value);
  std::memcpy(place.data(), &value, sizeof value);
}

void SampleSlot::Release() noexcept {
  if (slot_ == nullptr) return;
  BatchSlot& slot = *std::exchange(slot_, nullptr);
  if (slot.missing.fetch_sub(1, std::memory_order_acq_rel) == 1) slot.ring->MarkFull(slot, index_);
}

Ring::Ring(SlotLayout layout, uint32_t slots, NowFn now, std::function<void()> on_free, bool for_device)
    : layout_(std::move(layout)),
      now_(now),
      on_free_(std::move(on_free)),
      planned_slots_(slots),
      slot_stride_(SlotStride(layout_.bytes(), for_device)),
      arena_(slot_stride_ * slots),
      freed_(size_t{kMaxIdle} * slots),
      leased_(size_t{kMaxIdle} * slots) {
  MutexLock lock(mutex_);
  free_.reserve(size_t{kMaxIdle} * slots);
  for (uint32_t i = slots; i-- > 0;) AddSlot(arena_.data() + i * slot_stride_);
}

BatchSlot* Ring::AddSlot(std::byte* data) {
  slots_.push_back(std::make_unique<BatchSlot>());
  BatchSlot* slot = slots_.back().get();
  slot->data = data;
  slot->ring = this;
  free_.push_back(slot);
  freed_.Push({0, -1});
  slots_peak_ = std::max(slots_peak_, slots_.size());
  return slot;
}

void Ring::Extend() {
  {
    MutexLock lock(mutex_);
    if (idle() + 1 >= planned_slots_) return;
    Arena memory(slot_stride_);
    BatchSlot* slot = AddSlot(memory.data());
    slot->own_memory = std::move(memory);
  }
  on_free_();
}

BatchSlot* Ring::TryLease(uint32_t count) {
  assert(count > 0 && count <= layout_.batch_size());
  MutexLock lock(mutex_);
  if (free_.empty()) return nullptr;
  BatchSlot* slot = free_.back();
  free_.pop_back();
  std::tie(slot->freed_ns, slot->freed_by_batch) = freed_.Pop();
  slot->batch = next_batch_++;
  slot->count = count;
  slot->stamps = {};
  slot->missing.store(count, std::memory_order_relaxed);  // published by the queues that the jobs travel through
  leased_.Push(slot);
  return slot;
}

void Ring::MarkFull(BatchSlot& slot, uint32_t last_sample) {
  MutexLock lock(mutex_);
  slot.stamps.full_ns = now_();
  slot.stamps.last_sample = last_sample;
  ++full_slots_;
  full_.NotifyAll();
  if (on_full_) on_full_();
}

bool Ring::PageLock(Device& device) noexcept {
  arena_.KeepFromChildren();
  arena_.FaultIn(device.info().numa_node);
  return !device.RegisterHost(arena_.data(), arena_.size());
}

void Ring::OnFull(std::function<void()> on_full) {
  MutexLock lock(mutex_);
  on_full_ = std::move(on_full);
}

BatchSlot* Ring::TakeIfFull() {
  if (leased_.empty() || leased_.front()->stamps.full_ns == 0) return nullptr;
  --full_slots_;
  return leased_.Pop();
}

BatchSlot* Ring::TryTakeFull() {
  MutexLock lock(mutex_);
  return stopped_ ? nullptr : TakeIfFull();
}

BatchSlot* Ring::TakeFull(std::chrono::nanoseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  MutexLock lock(mutex_);
  bool waited = false;
  while (!stopped_) {
    if (BatchSlot* slot = TakeIfFull()) return slot;
    if (!waited) ++empties_;
    waited = true;
    const auto left = deadline - std::chrono::steady_clock::now();
    if (left <= left.zero()) return nullptr;
    full_.WaitFor(mutex_, left);
  }
  return nullptr;
}

void Ring::Return(BatchSlot& slot, int64_t freed_ns) {
  {
    MutexLock lock(mutex_);
    if (slot.held_by_caller) --held_;
    slot.held_by_caller = false;
    // The slots of the arena stay: so at most twice the slots and those.
    if (slot.own_memory.size() > 0 && idle() > (kMaxIdle - 1) * size_t{planned_slots_}) {
      std::erase_if(slots_, [&slot](const auto& one) { return one.get() == &slot; });
      return;
    }
    freed_.Push({freed_ns, slot.batch});
    free_.push_back(&slot);
  }
  on_free_();
}

void Ring::Lend(BatchSlot& slot) {
  MutexLock lock(mutex_);
  slot.held_by_caller = true;
  ++held_;
}

void Ring::EndLoan(BatchSlot& slot) {
  MutexLock lock(mutex_);
  if (slot.held_by_caller) --held_;
  slot.held_by_caller = false;
}

uint32_t Ring::held_by_caller() const {
  MutexLock lock(mutex_);
  return held_;
}

uint32_t Ring::extra_slots() const {
  MutexLock lock(mutex_);
  return static_cast<uint32_t>(slots_.size()) - planned_slots_;
}

uint32_t Ring::extra_slots_peak() const {
  MutexLock lock(mutex_);
  return static_cast<uint32_t>(slots_peak_) - planned_slots_;
}

int64_t Ring::leased_batches() const {
  MutexLock lock(mutex_);
  return next_batch_;
}

void Ring::Stop() {
  MutexLock lock(mutex_);
  stopped_ = true;
  full_.NotifyAll();
}

uint32_t Ring::full_slots() const {
  MutexLock lock(mutex_);
  return full_slots_;
}

uint64_t Ring::empties() const {
  MutexLock lock(mutex_);
  return empties_;
}

}  // namespace stoker
