// A plan's window as a stream of rows: what the resampler gives, gray where the plan says so, and the padding around
// it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "augment/augment.h"
#include "augment/plan.h"
#include "augment/resampler.h"
#include "augment/scratch.h"
#include "decode/image.h"

namespace stoker {

// Gives the rows of a plan's `window`, top to bottom, before the colour steps and the flips.
// Threads: none of its own; one thread at a time.
class Frame {
 public:
  // Of windows of this size. Throws std::bad_alloc.
  explicit Frame(ImageSize size);

  // Begins a picture, whose pixels must stay until the last row was taken. The rows will have `channels`; fewer than
  // the image's only where the plan makes it gray before the colour steps. Throws std::bad_alloc.
  // Requires: the image holds the plan's region at `box`.
  void Start(const ImageView& image, const SourceBox& box, const Plan& plan, int32_t channels);

  // The next row: window.width x channels samples, valid until the next call. Throws std::bad_alloc.
  // Requires: fewer than window.height rows were taken.
  const uint8_t* Next();

  size_t scratch_bytes() const;

 private:
  ImageView GrayImage(const ImageView& image);
  // Draws the rows that show no pixel.
  void StartPadding();
  // Takes all of the content, whose pixels come again.
  void StartRepeating();
  // The content's next row, in the window's channels.
  const uint8_t* ContentRow();
  // Puts the content's pixels where they come again in row `y` of the resized crop.
  void Repeat(int32_t y);
  size_t Bytes(int32_t pixels) const { return static_cast<size_t>(pixels) * static_cast<size_t>(channels_); }

  Plan plan_;
  int32_t channels_ = 3;
  int32_t source_channels_ = 3;  // that the resampler gives
  int32_t y_ = 0;                // of the next row, in the resized crop

  Resampler resampler_;
  Image gray_image_;  // what is resampled in gray; grows to the largest
  Scratch<uint8_t> gray_row_;

  // Rows of a window that the content does not fill: outside of all padding; nothing but padding; both around content.
  Scratch<uint8_t> zeros_, padding_, framed_;
  Scratch<uint8_t> content_;  // all its rows, where they come again
  Scratch<int32_t> columns_;  // which of its pixels the window's columns show, from the first inside the padding on
};

}  // namespace stoker
