// The dice: recipe + picture size + key -> what to decode and where each output pixel comes from.
#pragma once

#include <cstdint>

#include "augment/random.h"
#include "augment/recipe.h"

namespace stoker {

// One sample's geometry. The picture's rectangle `crop` is resampled to `resized`; of that, `window` is what the batch
// holds, with zeros outside `content`; then the flips. Nothing resampled: crop and resized agree. Flips that came
// before the resampling wait for it: the same picture, except where a nearest sample falls exactly between two pixels.
struct Plan {
  Rect crop;          // in the picture's coordinates
  ImageSize resized;  // at least 1 x 1
  Rect window;        // in the coordinates of the resized crop; its size is the sample's
  Rect content;       // the part of the window that holds pixels, same coordinates, inside `resized`; 0 x 0: none
  bool flip_horizontal = false;
  bool flip_vertical = false;
  Interpolation interpolation = Interpolation::kBilinear;

  // What must be decoded: the part of `crop` that the window needs, filter support included. Inside the picture and
  // never empty.
  Rect region;
  // The size that the scaled region must keep so that no resampling enlarges (for DecodeRequest::at_least).
  ImageSize region_at_least;
};

enum class PlanError : uint8_t {
  kNone,
  kTooSmall,   // RandomCrop, or CenterCrop before a resampling op, wants more than the (padded) picture has
  kWrongSize,  // the recipe's output for this picture is not the sample's size, or a side exceeds 2^28
};

// Pure: the same arguments give the same plan. Never allocates, never throws, safe from any thread.
// Requires: size at least 1 x 1.
PlanError MakePlan(const CompiledRecipe& recipe, ImageSize size, const SampleKey& key, Plan& plan) noexcept;

}  // namespace stoker
