#include "loader/delivery.h"

#include "loader/error.h"
#include "transfer/nvtx.h"

namespace stoker {

Delivery::Delivery(TransferPlan transfer, uint32_t host_slots, uint32_t device_slots, NowFn now,
                   std::function<void()> on_free)
    : now_(now),
      device_(std::move(transfer.device)),
      ring_(std::move(transfer.layout), host_slots, now, std::move(on_free), device_ != nullptr) {
  AttachNvtx();
  try {
    if (transfer.upload) {
      prefetcher_ = std::make_unique<Prefetcher>(
          *device_, ring_, Prefetcher::Options{.device_slots = device_slots, .finish = transfer.finish}, now);
    } else if (device_ != nullptr) {
      lender_ = std::make_unique<PinnedLender>(*device_, ring_, now);
    }
  } catch (const std::system_error& error) {
    throw Error(error.code(), "start", "", -1, error.what());
  }
}

void Delivery::Start() {
  if (prefetcher_ != nullptr) prefetcher_->Start();
  if (lender_ != nullptr) lender_->Start();
}

bool Delivery::pinned() const noexcept {
  if (prefetcher_ != nullptr) return prefetcher_->pinned();
  return lender_ == nullptr || lender_->pinned();
}

void Delivery::Stop() {
  ring_.Stop();
  if (prefetcher_ != nullptr) prefetcher_->Stop();
}

Delivered Delivery::Take(StreamHandle stream, std::chrono::nanoseconds timeout, std::error_code& error) {
  if (prefetcher_ != nullptr) {
    DeviceSlot* slot = prefetcher_->Take(stream, timeout, error);
    return slot == nullptr ? Delivered{} : Delivered{nullptr, slot, slot->batch, slot->count};
  }
  BatchSlot* slot = ring_.TakeFull(timeout);
  if (slot == nullptr) return {};
  ring_.Lend(*slot);
  return {slot, nullptr, slot->batch, slot->count};
}

void Delivery::Return(const Delivered& batch, StreamHandle stream) {
  if (batch.device != nullptr) return prefetcher_->Return(*batch.device, stream);
  if (lender_ != nullptr) return lender_->Return(*batch.host, stream);
  ring_.Return(*batch.host, now_());
}

BatchStamps Delivery::StampsOf(const Delivered& batch) const {
  return batch.device != nullptr ? prefetcher_->StampsOf(*batch.device) : batch.host->stamps;
}

void Delivery::LogCopies(StallLog& log, int64_t first_batch) {
  if (prefetcher_ == nullptr) return;
  for (Prefetcher::Copied copied; prefetcher_->TakeCopied(copied);) {
    BatchStamps& stamps = copied.stamps;
    if (stamps.device_slot_batch >= 0) stamps.device_slot_batch += first_batch;
    log.Copied(first_batch + copied.batch, stamps);
    if (copied.released_by_stream) log.DeviceDone(stamps.device_slot_batch, stamps.device_slot_ns);
  }
  log.DeviceStalled(prefetcher_->TakeDeviceStallNs());
}

uint32_t Delivery::ready() const { return ring_.full_slots() + (prefetcher_ != nullptr ? prefetcher_->waiting() : 0); }

uint32_t Delivery::held_by_caller() const {
  return prefetcher_ != nullptr ? prefetcher_->held_by_caller() : ring_.held_by_caller();
}

uint32_t Delivery::slots_for_caller() const {
  return prefetcher_ != nullptr ? prefetcher_->device_slots() : ring_.slots();
}

std::error_code Delivery::WaitOn(const Delivered& batch, StreamHandle stream) {
  return batch.device != nullptr ? prefetcher_->WaitOn(*batch.device, stream) : std::error_code();
}

const std::byte* Delivery::HostField(const Delivered& batch, size_t field) const noexcept {
  const auto& fields = ring_.layout().fields();
  if (batch.host != nullptr) return batch.host->data + fields[field].offset;
  return batch.device->small_fields.data() + (fields[field].offset - fields[1].offset);
}

const std::byte* Delivery::Field(const Delivered& batch, size_t field) const noexcept {
  const size_t offset = ring_.layout().fields()[field].offset;
  if (batch.device == nullptr) return batch.host->data + offset;
  return field == kPixels ? batch.device->tensor : batch.device->upload + offset;
}

}  // namespace stoker
