// Coefficients to pixels: inverse transform, upsampling and colour of a region, strip by strip.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "decode/image.h"
#include "decode/jpeg/frame.h"
#include "decode/jpeg/quantizers.h"
#include "decode/jpeg/reconstruction_kernels.h"
#include "decode/jpeg/sampling.h"

namespace stoker {

// Makes the pixels of a region that libjpeg-turbo's decode of the whole picture has there, bit for bit: accurate
// integer transform, fancy upsampling, YCbCr to RGB. The caller pushes rows of MCUs; each becomes pixels while it is in
// the cache. One a worker thread; grows to the widest region seen and keeps its memory. Threads: none of its own; one
// thread at a time.
class Reconstruction {
 public:
  // The MCUs whose coefficients make `region` (in pixels of the picture at 1/denominator of its size, 1 or 2), with
  // what upsampling looks at around it. Requires: a region inside that picture.
  static McuWindow WindowOf(const JpegFrame& frame, const Rect& region, int denominator) noexcept;

  // Begins a picture: `image` gets the region's size and `channels` (1 for gray pictures only, or 3) and stays the
  // caller's, to be left alone until the last Add. False: no memory.
  // Requires: as WindowOf.
  [[nodiscard]] bool Start(const JpegFrame& frame, const Rect& region, int denominator, int channels,
                           Image& image) noexcept;
  // The next row of MCUs of the window, from its top to its bottom; writes the rows of pixels that it completes.
  // False: with these coefficients libjpeg-turbo's arithmetic may overflow, so that only itself knows the pixels. The
  // image means nothing then, and the next call is Start.
  [[nodiscard]] bool Add(const McuRow& row) noexcept;

  // What it holds now.
  size_t capacity_bytes() const noexcept;

 private:
  // A component and the strips of its samples that are still needed.
  struct Component {
    Sampling sampling;
    Quantizers quantizers;
    Image ring;  // sample row y lies at y modulo the ring's height

    uint8_t* row(int32_t y) noexcept;  // its sample at sampling.first_column()
    const uint8_t* at(int32_t x, int32_t y) noexcept { return row(y) + (x - sampling.first_column()); }
  };

  [[nodiscard]] bool ResetRings() noexcept;
  void ChooseTaps() noexcept;
  [[nodiscard]] bool TransformStrip(const McuRow& row, size_t index) noexcept;
  void RepeatEdges(Component& component, int32_t first_row) noexcept;
  void WriteRow(int32_t y) noexcept;
  void WriteColorRow(int32_t y, uint8_t* pixels) noexcept;
  void WriteDoubledColorRow(int32_t y, uint8_t* pixels) noexcept;
  // The row of chroma samples under pixel row y, and the one with which it is mixed.
  int32_t NearRow(int32_t y) const noexcept { return y >> component_[1].sampling.doubling_y; }
  int32_t FarRow(int32_t y) const noexcept;

  const ReconstructionKernels* kernels_ = nullptr;
  Image* image_ = nullptr;
  Rect region_;
  McuWindow window_;
  size_t components_ = 0;
  std::array<Component, kMaxComponents> component_;
  bool looks_down_ = false;  // the last row of pixels of a strip needs the next strip
  int strip_height_ = 0;     // pixels in a row of MCUs
  int32_t next_mcu_row_ = 0;
  int32_t next_row_ = 0;  // of pixels
  Taps taps_;
  Image mixed_;  // a row of Cb and one of Cr, made of two rows of samples
};

}  // namespace stoker
