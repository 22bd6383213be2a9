#include "augment/augment.h"

#include <cassert>
#include <cstring>
#include <new>

#include "augment/finish.h"
#include "augment/frame.h"
#include "augment/pixel_ops.h"
#include "augment/scratch.h"

namespace stoker {

struct Augmenter::State {
  explicit State(const SampleSpec& sample_spec) : spec(sample_spec), frame(sample_spec.size), finisher(sample_spec) {}

  void Run(const ImageView& image, const SourceBox& box, const Plan& plan, std::byte* out);
  // The same where the colour steps need all pixels at once.
  void RunInColor(const Plan& plan, int32_t channels, std::byte* out);

  SampleSpec spec;
  Frame frame;
  Finisher finisher;
  Scratch<uint8_t> pixels;  // a whole sample
};

void Augmenter::State::Run(const ImageView& image, const SourceBox& box, const Plan& plan, std::byte* out) {
  // Gray behind the colour steps: they see what was there before it.
  const int32_t channels = plan.gray_after_colors ? 3 : spec.channels;
  frame.Start(image, box, plan, channels);
  if (plan.color_count > 0) return RunInColor(plan, channels, out);
  for (int32_t y = 0; y < spec.size.height; ++y) {
    finisher.WriteRow(frame.Next(), plan.flip_horizontal, plan.flip_vertical ? spec.size.height - 1 - y : y, out);
  }
}

void Augmenter::State::RunInColor(const Plan& plan, int32_t channels, std::byte* out) {
  const auto width = static_cast<size_t>(spec.size.width);
  const auto height = static_cast<size_t>(spec.size.height);
  const size_t row_bytes = width * static_cast<size_t>(channels);
  uint8_t* first = pixels.Reserve(row_bytes * height);
  for (size_t y = 0; y < height; ++y) std::memcpy(first + y * row_bytes, frame.Next(), row_bytes);
  for (int32_t i = 0; i < plan.color_count; ++i) {
    Adjust(plan.colors[static_cast<size_t>(i)], channels, width * height, first);
  }
  for (int32_t y = 0; y < spec.size.height; ++y) {
    uint8_t* row = first + static_cast<size_t>(y) * row_bytes;
    if (plan.gray_after_colors) ToGray(row, width, channels, spec.channels, row);
    finisher.WriteRow(row, plan.flip_horizontal, plan.flip_vertical ? spec.size.height - 1 - y : y, out);
  }
}

Augmenter::Augmenter(const SampleSpec& spec) : state_(std::make_unique<State>(spec)) {}

Augmenter::~Augmenter() = default;

bool Augmenter::Run(const ImageView& image, const SourceBox& box, const Plan& plan, std::span<std::byte> out) noexcept {
  const SampleSpec& spec = state_->spec;
  assert(out.size() == spec.bytes());
  assert((ImageSize{plan.window.width, plan.window.height} == spec.size));
  try {
    state_->Run(image, box, plan, out.data());
    state_->finisher.End();
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

size_t Augmenter::scratch_bytes() const noexcept {
  return state_->frame.scratch_bytes() + state_->finisher.scratch_bytes() + state_->pixels.bytes();
}

}  // namespace stoker
