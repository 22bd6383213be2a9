// The dice: recipe + picture size + key -> what to decode and where each output pixel comes from.
#pragma once

#include <array>
#include <cstdint>

#include "augment/random.h"
#include "augment/recipe.h"

namespace stoker {

enum class ColorOp : uint8_t { kBrightness, kContrast, kSaturation, kHue };
struct ColorStep {
  ColorOp op = ColorOp::kBrightness;
  double factor = 1;
};

// When a picture loses its colours. It never gets them back, so what comes behind the first time changes nothing.
enum class GrayStage : uint8_t { kNever, kBeforeResampling, kAfterResampling };

// One sample's draws. The picture's rectangle `crop` is resampled to `resized`; of that, `window` is what the batch
// holds, with padding outside `content`; then the colour steps; then the flips. Nothing resampled: crop and resized
// agree. Flips that came before the resampling wait for it: the same picture, except where a nearest sample or the edge
// of a box falls exactly between two pixels.
struct Plan {
  Rect crop;          // in the picture's coordinates
  ImageSize resized;  // at least 1 x 1
  Rect window;        // in the coordinates of the resized crop; its size is the sample's
  // The pixels that the window shows, same coordinates, inside `resized`; 0 x 0: none. With a mode that repeats pixels
  // also those which only the padding shows, so they may lie outside of the window.
  Rect content;
  bool flip_horizontal = false;
  bool flip_vertical = false;
  Interpolation interpolation = Interpolation::kBilinear;

  // Padding, same coordinates: `unpadded` was padded to `padded_once`, and that once more where it was not enough, with
  // `padding_mode`. Of this, `padded` is left, and outside of it the window is 0. Three times 0 x 0: all padding is 0.
  Rect unpadded, padded_once, padded;
  PaddingMode padding_mode = PaddingMode::kConstant;
  std::array<uint8_t, 3> fill = {0, 0, 0};  // as the colour steps meet it

  GrayStage gray = GrayStage::kNever;
  bool gray_after_colors = false;
  std::array<ColorStep, 4> colors;  // in this order
  int32_t color_count = 0;

  // What must be decoded: the part of `crop` that the window needs, filter support included. Inside the picture and
  // never empty.
  Rect region;
  // The size that the scaled region must keep so that no resampling enlarges (for DecodeRequest::at_least).
  ImageSize region_at_least;
};

enum class PlanError : uint8_t {
  kNone,
  kTooSmall,  // RandomCrop, or CenterCrop before an op that resamples or pads, wants more than the (padded) picture has
  kWrongSize,  // the recipe's output for this picture is not the sample's size, or a side is 0 or exceeds 2^28
};

// Pure: the same arguments give the same plan. Never allocates, never throws, safe from any thread.
// Requires: size at least 1 x 1.
PlanError MakePlan(const CompiledRecipe& recipe, ImageSize size, const SampleKey& key, Plan& plan) noexcept;

}  // namespace stoker
