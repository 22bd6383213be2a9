#include "augment/augment.h"

#include <cassert>
#include <cstring>
#include <new>

#include "augment/finish.h"
#include "augment/resampler.h"
#include "augment/scratch.h"

namespace stoker {

struct Augmenter::State {
  explicit State(const SampleSpec& sample_spec) : spec(sample_spec), finisher(sample_spec) {
    std::memset(frame.Reserve(row_bytes()), 0, row_bytes());
  }

  size_t row_bytes() const { return static_cast<size_t>(spec.size.width) * static_cast<size_t>(spec.channels); }

  void Run(const ImageView& image, const SourceBox& box, const Plan& plan, std::byte* out);

  SampleSpec spec;
  Resampler resampler;
  Finisher finisher;
  Scratch<uint8_t> frame;  // one row of the window: zeros around what the content fills
};

void Augmenter::State::Run(const ImageView& image, const SourceBox& box, const Plan& plan, std::byte* out) {
  const auto channels = static_cast<size_t>(spec.channels);
  const Rect& content = plan.content;
  const int32_t top = content.y - plan.window.y;
  const size_t left = static_cast<size_t>(content.x - plan.window.x) * channels;
  const size_t content_bytes = static_cast<size_t>(content.width) * channels;
  const bool framed = content.width != spec.size.width;
  if (content.width > 0) resampler.Start(image, box, plan);
  if (framed || content.height != spec.size.height) std::memset(frame.data(), 0, row_bytes());
  for (int32_t y = 0; y < spec.size.height; ++y) {
    const uint8_t* row = frame.data();
    if (y >= top && y < top + content.height) {
      row = resampler.Next();
      if (framed) {
        std::memcpy(frame.data() + left, row, content_bytes);
        row = frame.data();
      }
    } else if (framed && y == top + content.height) {
      std::memset(frame.data(), 0, row_bytes());
    }
    finisher.WriteRow(row, plan.flip_horizontal, plan.flip_vertical ? spec.size.height - 1 - y : y, out);
  }
}

Augmenter::Augmenter(const SampleSpec& spec) : state_(std::make_unique<State>(spec)) {}

Augmenter::~Augmenter() = default;

bool Augmenter::Run(const ImageView& image, const SourceBox& box, const Plan& plan, std::span<std::byte> out) noexcept {
  const SampleSpec& spec = state_->spec;
  assert(image.channels == spec.channels && out.size() == spec.bytes());
  assert((ImageSize{plan.window.width, plan.window.height} == spec.size));
  try {
    state_->Run(image, box, plan, out.data());
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

size_t Augmenter::scratch_bytes() const noexcept {
  return state_->resampler.scratch_bytes() + state_->finisher.scratch_bytes() + state_->frame.bytes();
}

}  // namespace stoker
