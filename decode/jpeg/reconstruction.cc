#include "decode/jpeg/reconstruction.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "decode/jpeg/reconstruction_scalar.h"

namespace stoker {
namespace {

// In front of a row's first sample or sum, for the neighbour that upsampling looks at; as wide as the widest vectors,
// so that rows begin at the border of one.
constexpr int32_t kLead = 64;

// A row of `bytes`, its lead, and what kernels write behind it. An odd number of cache lines, because rows at large
// powers of two would evict each other.
int32_t PaddedWidth(int32_t bytes) {
  constexpr int32_t kLine = 64;
  return ((kLead + bytes + static_cast<int32_t>(kKernelSlack)) / (2 * kLine) * 2 + 1) * kLine;
}

McuWindow Grown(const McuWindow& window, const Sampling& sampling) {
  return {std::min(window.x0, sampling.first_block() / sampling.h),
          std::min(window.y0, sampling.first_block_row() / sampling.v),
          std::max(window.x1, (sampling.end_block() + sampling.h - 1) / sampling.h),
          std::max(window.y1, (sampling.end_block_row() + sampling.v - 1) / sampling.v)};
}

}  // namespace

const ReconstructionKernels& KernelsOf([[maybe_unused]] CpuPath path) noexcept {
#ifdef __x86_64__
  if (path == CpuPath::kAvx512) return kAvx512Reconstruction;
  if (path == CpuPath::kAvx2) return kAvx2Reconstruction;
  return kSse2Reconstruction;
#else
  return kScalarReconstruction;
#endif
}

uint8_t* Reconstruction::Component::row(int32_t y) noexcept {
  return ring.row(y & (ring.size().height - 1)) + kLead;  // a power of two
}

McuWindow Reconstruction::WindowOf(const JpegFrame& frame, const Rect& region, int denominator) noexcept {
  McuWindow window = {frame.mcus_across, frame.mcus_down, 0, 0};
  for (int i = 0; i < frame.components; ++i) window = Grown(window, SamplingOf(frame, region, denominator, i));
  return window;
}

bool Reconstruction::Start(const JpegFrame& frame, const Rect& region, int denominator, int channels,
                           Image& image) noexcept {
  assert(denominator == 1 || denominator == 2);
  assert(channels == 3 || (channels == 1 && frame.components == 1));
  kernels_ = &KernelsOf(ChosenCpuPath());
  image_ = &image;
  region_ = region;
  components_ = static_cast<size_t>(frame.components);
  looks_down_ = false;
  for (size_t i = 0; i < components_; ++i) {
    component_[i].sampling = SamplingOf(frame, region, denominator, static_cast<int>(i));
    component_[i].quantizers.Assign(frame.component[i].quantization);
    looks_down_ |= component_[i].sampling.fancy_y;
  }
  window_ = WindowOf(frame, region, denominator);
  strip_height_ = frame.mcu_height() / denominator;
  next_mcu_row_ = window_.y0;
  next_row_ = region.y;
  ChooseTaps();
  return ResetRings() && image.Reset({region.width, region.height}, channels);
}

bool Reconstruction::ResetRings() noexcept {
  constexpr int32_t kGroup = static_cast<int32_t>(kBlocksAtOnce);
  for (size_t i = 0; i < components_; ++i) {
    Component& component = component_[i];
    const Sampling& sampling = component.sampling;
    const int32_t blocks = (sampling.end_block() - sampling.first_block() + kGroup - 1) / kGroup * kGroup;
    const int strips = looks_down_ ? 2 : 1;
    if (!component.ring.Reset({PaddedWidth(blocks * sampling.block_size), strips * sampling.strip_height()}, 1)) {
      return false;
    }
  }
  return mixed_.Reset({PaddedWidth(region_.width * static_cast<int32_t>(sizeof(uint16_t))), 2}, 1);
}

// Every even pixel leans to the sample before its own, every odd one to the next; which comes first depends on the
// region. The biases are libjpeg's, where sums of two rows are four times a sample.
void Reconstruction::ChooseTaps() noexcept {
  const Sampling& chroma = component_[components_ - 1].sampling;
  const bool two_rows = chroma.fancy_y;
  const int16_t even_bias = two_rows ? 8 : 4;
  const int16_t odd_bias = two_rows ? 7 : 8;
  const ptrdiff_t step = chroma.fancy_x ? 1 : 0;
  if (region_.x % 2 == 0) {
    taps_.pixel = {{{0, -step, even_bias}, {0, step, odd_bias}}};
  } else {
    taps_.pixel = {{{0, step, odd_bias}, {1, 1 - step, even_bias}}};
  }
}

bool Reconstruction::Add(const McuRow& row) noexcept {
  assert(next_mcu_row_ < window_.y1);
  for (size_t i = 0; i < components_; ++i) {
    if (!TransformStrip(row, i)) return false;
  }
  ++next_mcu_row_;
  const int32_t bottom = region_.y + region_.height;
  int32_t end = bottom;
  if (next_mcu_row_ < window_.y1) end = std::min(bottom, next_mcu_row_ * strip_height_ - (looks_down_ ? 1 : 0));
  for (; next_row_ < end; ++next_row_) WriteRow(next_row_);
  return true;
}

bool Reconstruction::TransformStrip(const McuRow& row, size_t index) noexcept {
  Component& component = component_[index];
  const Sampling& sampling = component.sampling;
  const auto transform = sampling.block_size == kBlockSize ? kernels_->transform : kernels_->half_transform;
  const int32_t skipped = sampling.first_block() - window_.x0 * sampling.h;
  const auto count = static_cast<size_t>(sampling.end_block() - sampling.first_block());
  for (int j = 0; j < sampling.v; ++j) {
    const int32_t block_row = next_mcu_row_ * sampling.v + j;
    if (block_row < sampling.first_block_row() || block_row >= sampling.end_block_row()) continue;
    const CoefficientBlock* const blocks = row.blocks[index][static_cast<size_t>(j)] + skipped;
    const int32_t first_row = block_row * sampling.block_size;
    if (!transform(blocks, count, component.quantizers, component.row(first_row), component.ring.stride_bytes())) {
      return false;
    }
    if (sampling.fancy_x) RepeatEdges(component, first_row);
  }
  return true;
}

// Upsampling takes an edge's sample for the one that is missing beside it.
void Reconstruction::RepeatEdges(Component& component, int32_t first_row) noexcept {
  const Sampling& sampling = component.sampling;
  const int32_t end = sampling.needed.x + sampling.needed.width;
  for (int32_t y = first_row; y < first_row + sampling.block_size; ++y) {
    uint8_t* const samples = component.row(y);
    if (sampling.needed.x == 0) samples[-1] = samples[0];
    if (end == sampling.size.width) samples[end - sampling.first_column()] = samples[end - sampling.first_column() - 1];
  }
}

void Reconstruction::WriteRow(int32_t y) noexcept {
  uint8_t* const pixels = image_->row(y - region_.y);
  const auto width = static_cast<size_t>(region_.width);
  if (components_ > 1) {
    if (component_[1].sampling.doubling_x == 1) return WriteDoubledColorRow(y, pixels);
    return WriteColorRow(y, pixels);
  }
  const uint8_t* const luma = component_[0].at(region_.x, y);
  if (image_->channels() == 1) {
    std::memcpy(pixels, luma, width);
  } else {
    kernels_->gray(luma, width, pixels);
  }
}

int32_t Reconstruction::FarRow(int32_t y) const noexcept {
  const Sampling& chroma = component_[1].sampling;
  if (!chroma.fancy_y) return NearRow(y);
  return y % 2 == 0 ? std::max(NearRow(y) - 1, 0) : std::min(NearRow(y) + 1, chroma.size.height - 1);
}

void Reconstruction::WriteColorRow(int32_t y, uint8_t* pixels) noexcept {
  const auto width = static_cast<size_t>(region_.width);
  std::array<const uint8_t*, 2> chroma;
  for (size_t i = 0; i < chroma.size(); ++i) {
    Component& component = component_[1 + i];
    chroma[i] = component.at(region_.x, NearRow(y));
    if (!component.sampling.fancy_y) continue;
    uint8_t* const mixed = mixed_.row(static_cast<int32_t>(i)) + kLead;
    kernels_->mix_rows(chroma[i], component.at(region_.x, FarRow(y)), y % 2 == 0 ? 1 : 2, width, mixed);
    chroma[i] = mixed;
  }
  kernels_->color(component_[0].at(region_.x, y), chroma[0], chroma[1], width, pixels);
}

void Reconstruction::WriteDoubledColorRow(int32_t y, uint8_t* pixels) noexcept {
  // From the sample before the first pixel's to the one behind the last pixel's.
  const int32_t first = region_.x / 2 - 1;
  const int32_t end = (region_.x + region_.width - 1) / 2 + 2;
  std::array<const uint16_t*, 2> chroma;
  for (size_t i = 0; i < chroma.size(); ++i) {
    Component& component = component_[1 + i];
    auto* const sums = reinterpret_cast<uint16_t*>(mixed_.row(static_cast<int32_t>(i)) + kLead);
    kernels_->sum_rows(component.at(first, NearRow(y)), component.at(first, FarRow(y)),
                       static_cast<size_t>(end - first), sums);
    chroma[i] = sums + 1;
  }
  kernels_->color_doubled(component_[0].at(region_.x, y), chroma[0], chroma[1], taps_,
                          static_cast<size_t>(region_.width), pixels);
}

size_t Reconstruction::capacity_bytes() const noexcept {
  size_t bytes = mixed_.capacity_bytes();
  for (const Component& component : component_) bytes += component.ring.capacity_bytes();
  return bytes;
}

}  // namespace stoker
