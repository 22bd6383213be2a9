#include "loader/batch.h"

#include <cassert>
#include <cstring>
#include <system_error>
#include <utility>

#include "loader/delivery.h"
#include "loader/error.h"

namespace stoker {

Batch::Batch(std::shared_ptr<Delivery> delivery, std::shared_ptr<const Source> source, const Delivered& slot,
             const SampleSpec& spec, uint64_t epoch, uint64_t position, StreamHandle stream) noexcept
    : delivery_(std::move(delivery)),
      source_(std::move(source)),
      slot_(slot),
      spec_(spec),
      epoch_(epoch),
      position_(position),
      stream_(stream) {}

const std::byte* Batch::pixels() const noexcept { return delivery_->Field(slot_, 0); }
const std::byte* Batch::HostField(size_t field) const noexcept { return delivery_->HostField(slot_, field); }
const void* Batch::DeviceField(size_t field) const noexcept {
  return slot_.device != nullptr ? delivery_->Field(slot_, field) : nullptr;
}
const DeviceInfo* Batch::device() const noexcept {
  return delivery_->device() != nullptr ? &delivery_->device()->info() : nullptr;
}

void Batch::WaitOn(StreamHandle stream) const {
  if (const std::error_code error = delivery_->WaitOn(slot_, stream)) {
    throw Error(error, "copy", "", -1, "copying a batch to the device failed: " + error.message());
  }
}

Batch& Batch::operator=(Batch&& other) noexcept {
  if (this == &other) return *this;
  Release();
  delivery_ = std::move(other.delivery_);
  source_ = std::move(other.source_);
  slot_ = std::exchange(other.slot_, {});
  spec_ = other.spec_;
  epoch_ = other.epoch_;
  position_ = other.position_;
  stream_ = other.stream_;
  return *this;
}

void Batch::Release() noexcept {
  if (slot_) delivery_->Return(std::exchange(slot_, {}), stream_);
  delivery_.reset();
}

std::array<int64_t, 4> Batch::shape() const noexcept {
  const int64_t channels = spec_.channels;
  const int64_t height = spec_.size.height;
  const int64_t width = spec_.size.width;
  if (spec_.layout == Layout::kNchw) return {size(), channels, height, width};
  return {size(), height, width, channels};
}

void Batch::CopyPixelsTo(std::span<std::byte> to) const {
  assert(to.size() == pixel_bytes());
  if (slot_.device == nullptr) {
    std::memcpy(to.data(), pixels(), to.size());
    return;
  }
  Device* const device = delivery_->device();
  const DeviceScope scope(*device);
  StreamHandle stream = kHostStream;
  std::error_code error = scope.error();
  if (!error) error = device->CreateStream(stream);
  // Not WaitOn: this stream is gone before the batch is.
  if (!error) error = device->StreamWaitEvent(stream, slot_.device->ready);
  if (!error) error = device->CopyToHostAsync(to.data(), pixels(), to.size(), stream);
  if (!error) error = device->SynchronizeStream(stream);
  if (stream != kHostStream) (void)device->DestroyStream(stream);
  if (error) throw Error(error, "copy", "", -1, "copying a batch to the host failed: " + error.message());
}

}  // namespace stoker
