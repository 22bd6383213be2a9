// The work: decoded pixels + plan -> one sample's final bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "augment/plan.h"
#include "augment/spec.h"
#include "decode/image.h"

namespace stoker {

// Where `plan.region` lies in the decoded image, in its pixels; whole numbers unless it was decoded at a smaller scale.
struct SourceBox {
  double x0 = 0, y0 = 0, x1 = 0, y1 = 0;
};

// Crops, resamples, pads, colours, flips, normalises, converts and lays out samples, reusing its tables and row
// buffers.
// Threads: one per worker thread; not thread-safe. Never throws.
class Augmenter {
 public:
  explicit Augmenter(const SampleSpec& spec);
  ~Augmenter();
  Augmenter(const Augmenter&) = delete;
  Augmenter& operator=(const Augmenter&) = delete;

  // Writes spec.bytes() to `out`, every one of them, each once. Where the region was decoded at full scale, the pixels
  // before normalisation equal those of torchvision's ops on Pillow 13's images, and the rest is torchvision's
  // arithmetic to the last bit. The same bytes on every CPU. Returns false where there is no memory for the tables (or
  // they would exceed 1 GiB).
  // Requires: image.channels is the recipe's, out.size() == spec.bytes(), a plan that MakePlan made for this recipe.
  [[nodiscard]] bool Run(const ImageView& image, const SourceBox& box, const Plan& plan,
                         std::span<std::byte> out) noexcept;

  // Bytes of scratch held now.
  size_t scratch_bytes() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace stoker
