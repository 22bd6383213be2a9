#include "transfer/device_slot.h"

#include <string>
#include <system_error>

namespace stoker {
namespace {

void ThrowIf(std::error_code error, const std::string& what) {
  if (error) throw std::system_error(error, what);
}

// All but `ready`, which may be another one.
std::array<EventHandle*, 8> EventsOf(DeviceSlot& slot) {
  return {&slot.copy_start,     &slot.uploaded,     &slot.released[0],    &slot.released[1],
          &slot.waits[0].begin, &slot.waits[0].end, &slot.waits[1].begin, &slot.waits[1].end};
}

}  // namespace

void DeviceSlots::Allocate(uint32_t slots, const SlotLayout& layout, const std::optional<DeviceFinish>& finish) {
  for (uint32_t i = 0; i < slots; ++i) {
    slots_.push_back(std::make_unique<DeviceSlot>());
    AllocateOne(*slots_.back(), layout, finish);
  }
}

void DeviceSlots::AllocateOne(DeviceSlot& slot, const SlotLayout& layout, const std::optional<DeviceFinish>& finish) {
  slot.upload = Memory(layout.bytes());
  slot.tensor = finish ? Memory(finish->tensor_bytes) : slot.upload;
  if (layout.fields().size() > 1) slot.small_fields.resize(layout.bytes() - layout.fields()[1].offset);
  for (EventHandle* event : EventsOf(slot)) ThrowIf(device_.CreateEvent(*event), "event");
  slot.ready = slot.uploaded;
  if (finish) ThrowIf(device_.CreateEvent(slot.ready), "event");
}

std::byte* DeviceSlots::Memory(size_t bytes) {
  void* memory = nullptr;
  const std::error_code error = device_.Allocate(bytes, memory);
  if (error) {
    size_t free_bytes = 0;
    (void)device_.FreeMemory(free_bytes);
    ThrowIf(error, "device slot " + std::to_string(slots_.size()) + " on " + device_.info().name + ": " +
                       std::to_string(bytes) + " bytes, of which " + std::to_string(free_bytes) +
                       " are free (lower batch_size or prefetch_factor)");
  }
  return static_cast<std::byte*>(memory);
}

void DeviceSlots::Free() noexcept {
  for (auto& slot : slots_) {
    if (slot->ready != slot->uploaded) (void)device_.DestroyEvent(slot->ready);
    for (const EventHandle* event : EventsOf(*slot)) {
      if (*event != 0) (void)device_.DestroyEvent(*event);
    }
    if (slot->tensor != slot->upload && slot->tensor != nullptr) (void)device_.Free(slot->tensor);
    if (slot->upload != nullptr) (void)device_.Free(slot->upload);
  }
  slots_.clear();
}

}  // namespace stoker
