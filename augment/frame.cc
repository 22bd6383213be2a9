#include "augment/frame.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <new>

#include "augment/padding.h"
#include "augment/pixel_ops.h"

namespace stoker {

namespace {

bool InRows(const Rect& rect, int32_t y) { return y >= rect.y && y < rect.y + rect.height; }

}  // namespace

Frame::Frame(ImageSize size) {
  const auto width = static_cast<size_t>(size.width);
  for (Scratch<uint8_t>* row : {&gray_row_, &zeros_, &padding_, &framed_}) row->Reserve(3 * width);
  std::memset(zeros_.data(), 0, 3 * width);
  columns_.Reserve(width);
}

ImageView Frame::GrayImage(const ImageView& image) {
  if (!gray_image_.Reset(image.size, 1)) throw std::bad_alloc();
  for (int32_t y = 0; y < image.size.height; ++y) {
    ToGray(image.row(y), static_cast<size_t>(image.size.width), image.channels, 1, gray_image_.row(y));
  }
  return gray_image_.view();
}

void Frame::Start(const ImageView& image, const SourceBox& box, const Plan& plan, int32_t channels) {
  assert(image.channels <= channels || plan.gray != GrayStage::kNever);
  plan_ = plan;
  channels_ = channels;
  y_ = plan.window.y;
  const ImageView source = plan.gray == GrayStage::kBeforeResampling ? GrayImage(image) : image;
  source_channels_ = source.channels;
  if (plan.content.width > 0) resampler_.Start(source, box, plan);
  // The content is never larger than the window: neighbours in it show the same pixel or neighbours.
  if (Repeats(plan)) content_.Reserve(Bytes(plan.window.width) * static_cast<size_t>(plan.window.height));
  if (plan.content == plan.window) return;
  StartPadding();
  if (Repeats(plan)) StartRepeating();
}

void Frame::StartPadding() {
  const size_t bytes = Bytes(plan_.window.width);
  std::memset(padding_.data(), 0, bytes);
  for (int32_t x = 0; x < plan_.padded.width; ++x) {
    std::copy_n(plan_.fill.begin(), channels_, padding_.data() + Bytes(plan_.padded.x + x - plan_.window.x));
  }
  std::memcpy(framed_.data(), padding_.data(), bytes);
}

void Frame::StartRepeating() {
  for (int32_t x = 0; x < plan_.padded.width; ++x) {
    columns_[static_cast<size_t>(x)] = SourceColumn(plan_, plan_.padded.x + x) - plan_.content.x;
  }
  const size_t bytes = Bytes(plan_.content.width);
  for (int32_t y = 0; y < plan_.content.height; ++y) {
    std::memcpy(content_.data() + static_cast<size_t>(y) * bytes, ContentRow(), bytes);
  }
}

const uint8_t* Frame::ContentRow() {
  const uint8_t* row = resampler_.Next();
  if (source_channels_ == channels_ && plan_.gray != GrayStage::kAfterResampling) return row;
  const int32_t width = plan_.content.width;
  ToGray(row, static_cast<size_t>(width), source_channels_, channels_, gray_row_.data());
  return gray_row_.data();
}

void Frame::Repeat(int32_t y) {
  const size_t content_row = static_cast<size_t>(SourceRow(plan_, y) - plan_.content.y);
  const uint8_t* from = content_.data() + content_row * Bytes(plan_.content.width);
  uint8_t* to = framed_.data() + Bytes(plan_.padded.x - plan_.window.x);
  for (size_t x = 0; x < static_cast<size_t>(plan_.padded.width); ++x) {
    const uint8_t* pixel = from + Bytes(columns_[x]);
    for (int32_t c = 0; c < channels_; ++c) *to++ = pixel[c];
  }
}

const uint8_t* Frame::Next() {
  assert(InRows(plan_.window, y_));
  const int32_t y = y_++;
  const bool padded = InRows(plan_.padded, y);
  if (plan_.content == plan_.window) return ContentRow();
  if (Repeats(plan_)) {
    if (!padded) return zeros_.data();
    Repeat(y);
    return framed_.data();
  }
  if (!InRows(plan_.content, y)) return padded ? padding_.data() : zeros_.data();
  const uint8_t* row = ContentRow();
  if (plan_.content.width == plan_.window.width) return row;
  std::memcpy(framed_.data() + Bytes(plan_.content.x - plan_.window.x), row, Bytes(plan_.content.width));
  return framed_.data();
}

size_t Frame::scratch_bytes() const {
  return resampler_.scratch_bytes() + gray_image_.capacity_bytes() + gray_row_.bytes() + zeros_.bytes() +
         padding_.bytes() + framed_.bytes() + content_.bytes() + columns_.bytes();
}

}  // namespace stoker
