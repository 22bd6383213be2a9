// Pictures that are like photographs to a codec: what the synthetic data set is made of.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "augment/random.h"

namespace stoker {

// Noise on a square that repeats without a seam. Mean near 0, standard deviation kDeviation.
class NoiseTile {
 public:
  static constexpr int kSide = 1024;
  static constexpr int kDeviation = 64;

  // Value noise of one lattice spacing, a power of two, and its share of the sum.
  struct Octave {
    int spacing;
    int weight;
  };

  NoiseTile(std::span<const Octave> octaves, Random random);

  int At(int x, int y) const { return values_[Index(x, y)]; }

 private:
  static size_t Index(int x, int y) {
    return static_cast<size_t>(y & (kSide - 1)) * kSide + static_cast<size_t>(x & (kSide - 1));
  }
  void Add(Octave octave, Random& random, std::vector<int32_t>& sums) const;

  std::vector<int16_t> values_;
};

struct PictureLook {
  int detail = 256;  // strength of the surface texture, 256 = usual: this decides the bits a pixel costs
  int grain = 2;     // standard deviation of the film grain, in levels
};

// Paints scenes: surfaces with borders like coastlines, shapes with sharp outlines, each with its own colour, shading
// and roughness; a lens that softens; grain. All arithmetic is on integers, so that the bytes are the same everywhere.
// Threads: Paint may run on any number of them.
class PicturePainter {
 public:
  explicit PicturePainter(uint64_t seed);

  // Fills `rgb`, width * height * 3 bytes in rows. The picture is a function of the painter's seed, the size, the look
  // and `random`.
  void Paint(int width, int height, const PictureLook& look, Random random, std::vector<uint8_t>& rgb) const;

 private:
  struct Surface;
  struct Scene;

  std::vector<uint8_t> LayOut(int width, int height, Random& random) const;
  Scene MakeScene(const PictureLook& look, Random& random) const;
  void Colour(const Scene& scene, std::span<const uint8_t> surface_of_pixel, int width, std::span<uint8_t> rgb) const;
  void AddGrain(const PictureLook& look, int width, Random& random, std::span<uint8_t> rgb) const;

  const NoiseTile shapes_;   // hills and valleys: borders and light
  const NoiseTile texture_;  // what surfaces are rough with
  const NoiseTile grain_;
};

}  // namespace stoker
