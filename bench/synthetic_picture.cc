#include "bench/synthetic_picture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace stoker {
namespace {

constexpr int kSurfaces = 16;

// Natural pictures have about the same energy in every octave (amplitude 1/f). Light and borders bring that of the
// coarse octaves, so the texture leans to its fine end, the more so as the lens takes half of the finest away.
constexpr NoiseTile::Octave kShapes[] = {{256, 16}, {128, 10}, {64, 6}, {32, 3}, {16, 1}};
constexpr NoiseTile::Octave kTexture[] = {{16, 2}, {8, 3}, {4, 4}, {2, 6}, {1, 6}};
constexpr NoiseTile::Octave kGrainOctaves[] = {{2, 2}, {1, 3}};

int RandomBetween(Random& random, int low, int high) {
  return low + static_cast<int>(random.Below(static_cast<uint32_t>(high - low + 1)));
}

// std::sqrt is correctly rounded on every IEEE machine, and exact enough for these magnitudes.
int SquareRoot(int64_t value) { return static_cast<int>(std::sqrt(static_cast<double>(value))); }

uint8_t Clamp(int value) { return static_cast<uint8_t>(std::clamp(value, 0, 255)); }

// A binomial 3 x 3 filter, in place: no lens draws a border from one pixel to the next.
void Soften(int width, int height, std::span<uint8_t> rgb) {
  const size_t row_bytes = static_cast<size_t>(width) * 3;
  std::vector<uint8_t> above(row_bytes), here(row_bytes);
  std::vector<uint16_t> sums(row_bytes);
  std::copy_n(rgb.begin(), row_bytes, above.begin());
  for (int y = 0; y < height; ++y) {
    const auto row = rgb.subspan(static_cast<size_t>(y) * row_bytes, row_bytes);
    const auto below = rgb.subspan(static_cast<size_t>(std::min(y + 1, height - 1)) * row_bytes, row_bytes);
    std::copy(row.begin(), row.end(), here.begin());
    for (size_t i = 0; i < row_bytes; ++i) sums[i] = static_cast<uint16_t>(above[i] + 2 * here[i] + below[i]);
    for (size_t i = 3; i + 3 < row_bytes; ++i) {
      row[i] = static_cast<uint8_t>((sums[i - 3] + 2 * sums[i] + sums[i + 3] + 8) >> 4);
    }
    std::swap(above, here);
  }
}

}  // namespace

NoiseTile::NoiseTile(std::span<const Octave> octaves, Random random) : values_(size_t{kSide} * kSide) {
  std::vector<int32_t> sums(values_.size(), 0);
  for (const Octave& octave : octaves) Add(octave, random, sums);
  int64_t squares = 0;
  for (const int64_t sum : sums) squares += sum * sum >> 8;
  const int deviation = std::max(1, SquareRoot(squares / static_cast<int64_t>(sums.size()) << 8));
  std::ranges::transform(sums, values_.begin(), [deviation](int32_t sum) {
    return static_cast<int16_t>(int64_t{sum} * kDeviation / deviation);
  });
}

void NoiseTile::Add(Octave octave, Random& random, std::vector<int32_t>& sums) const {
  const int points = kSide / octave.spacing;
  std::vector<int> lattice(static_cast<size_t>(points) * static_cast<size_t>(points));
  for (int& value : lattice) value = RandomBetween(random, -127, 127) * octave.weight;
  const auto point = [&](int x, int y) {
    return lattice[static_cast<size_t>(y & (points - 1)) * static_cast<size_t>(points) +
                   static_cast<size_t>(x & (points - 1))];
  };
  // 3t^2 - 2t^3, in 256ths: no kinks at the lattice lines.
  std::vector<int> ease(static_cast<size_t>(octave.spacing));
  for (int i = 0; i < octave.spacing; ++i) {
    const int t = 256 * i / octave.spacing;
    ease[static_cast<size_t>(i)] = t * t * (768 - 2 * t) >> 16;
  }
  std::vector<int> column(static_cast<size_t>(points) + 1);
  for (int y = 0; y < kSide; ++y) {
    const int v = ease[static_cast<size_t>(y % octave.spacing)];
    for (int x = 0; x <= points; ++x) {
      const int top = point(x, y / octave.spacing), bottom = point(x, y / octave.spacing + 1);
      column[static_cast<size_t>(x)] = top * 256 + (bottom - top) * v;
    }
    int32_t* const row = &sums[static_cast<size_t>(y) * kSide];
    for (int x = 0; x < kSide; ++x) {
      const size_t left = static_cast<size_t>(x / octave.spacing);
      const int u = ease[static_cast<size_t>(x % octave.spacing)];
      row[x] += (column[left] * 256 + (column[left + 1] - column[left]) * u) >> 12;
    }
  }
}

struct PicturePainter::Surface {
  std::array<int, 3> colour;
  int light;      // how much the light varies over it, 256ths
  int roughness;  // amplitude of the texture, 256ths
  int tint;       // how much of the texture is in the colour, 256ths
};

struct PicturePainter::Scene {
  std::array<Surface, kSurfaces> surfaces;
  int x, y;  // where in the tiles
};

PicturePainter::PicturePainter(uint64_t seed)
    : shapes_(kShapes, Random({.seed = seed}, 0)),
      texture_(kTexture, Random({.seed = seed}, 1)),
      grain_(kGrainOctaves, Random({.seed = seed}, 2)) {}

void PicturePainter::Paint(int width, int height, const PictureLook& look, Random random,
                           std::vector<uint8_t>& rgb) const {
  rgb.resize(static_cast<size_t>(width) * static_cast<size_t>(height) * 3);
  const std::vector<uint8_t> surface_of_pixel = LayOut(width, height, random);
  Colour(MakeScene(look, random), surface_of_pixel, width, rgb);
  Soften(width, height, rgb);
  AddGrain(look, width, random, rgb);
}

// Which surface each pixel shows: level sets of hilly noise on a slope, then shapes in front of them.
std::vector<uint8_t> PicturePainter::LayOut(int width, int height, Random& random) const {
  std::vector<uint8_t> surface_of_pixel(static_cast<size_t>(width) * static_cast<size_t>(height));
  const int from_x = RandomBetween(random, 0, NoiseTile::kSide - 1);
  const int from_y = RandomBetween(random, 0, NoiseTile::kSide - 1);
  const int step = RandomBetween(random, 1, 2);
  const int slope_x = RandomBetween(random, -60, 60), slope_y = RandomBetween(random, -240, 240);
  const int level_height = RandomBetween(random, 32, 80);
  uint8_t* pixel = surface_of_pixel.data();
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const int level = shapes_.At(from_x + x * step, from_y + y * step) + slope_x * x / width + slope_y * y / height;
      *pixel++ = static_cast<uint8_t>((level + 1024) / level_height % kSurfaces);
    }
  }
  const int size = std::min(width, height);
  for (int shapes = RandomBetween(random, 2, 24); shapes > 0; --shapes) {
    const auto surface = static_cast<uint8_t>(random.Below(kSurfaces));
    const bool is_round = random.Below(3) > 0;
    const int center_x = RandomBetween(random, 0, width - 1), center_y = RandomBetween(random, 0, height - 1);
    const int share = RandomBetween(random, 1, 40);  // per cent; times the next number, so that most are small
    const int half_width = std::max(2, size * share * RandomBetween(random, 10, 100) / 10'000);
    const int half_height = std::max(2, half_width * RandomBetween(random, 40, 250) / 100);
    const int lean = RandomBetween(random, -64, 64);  // 256ths of a pixel a row
    const int64_t square = int64_t{half_height} * half_height;
    for (int y = std::max(0, center_y - half_height); y < std::min(height, center_y + half_height); ++y) {
      const int dy = y - center_y;
      const int reach =
          is_round ? half_width * SquareRoot((square - int64_t{dy} * dy) << 8) / (half_height * 16) : half_width;
      const int middle = center_x + dy * lean / 256;
      const int begin = std::clamp(middle - reach, 0, width), end = std::clamp(middle + reach, 0, width);
      uint8_t* const row = &surface_of_pixel[static_cast<size_t>(y) * static_cast<size_t>(width)];
      std::fill(row + begin, row + end, surface);
    }
  }
  return surface_of_pixel;
}

PicturePainter::Scene PicturePainter::MakeScene(const PictureLook& look, Random& random) const {
  Scene scene;
  for (Surface& surface : scene.surfaces) {
    const int brightness = RandomBetween(random, 24, 220);
    for (int& level : surface.colour) level = brightness + RandomBetween(random, -24, 24);
    surface.light = RandomBetween(random, 40, 200);
    // Squared: most surfaces are smooth, some are grass.
    const int rough = RandomBetween(random, 2, 13);
    surface.roughness = rough * rough * look.detail / 256;
    surface.tint = RandomBetween(random, 16, 96);
  }
  scene.x = RandomBetween(random, 0, NoiseTile::kSide - 1);
  scene.y = RandomBetween(random, 0, NoiseTile::kSide - 1);
  return scene;
}

void PicturePainter::Colour(const Scene& scene, std::span<const uint8_t> surface_of_pixel, int width,
                            std::span<uint8_t> rgb) const {
  constexpr int kElsewhere = 389;  // far enough away in a tile to be independent
  uint8_t* out = rgb.data();
  int x = 0, y = 0;
  for (const uint8_t index : surface_of_pixel) {
    const Surface& surface = scene.surfaces[index];
    const int light = shapes_.At(scene.x + x, scene.y + y);
    const int patch = std::clamp(128 + shapes_.At(scene.y + 2 * x, scene.x + 2 * y), 16, 256);
    const int roughness = surface.roughness * patch >> 7;
    const int texture = texture_.At(scene.x + x, scene.y + y) * roughness >> 8;
    const int tint = (texture_.At(scene.y + x + kElsewhere, scene.x + y) * roughness >> 8) * surface.tint >> 8;
    const int gain = 256 + (light * surface.light >> 8);
    *out++ = Clamp((surface.colour[0] * gain >> 8) + texture + tint);
    *out++ = Clamp((surface.colour[1] * gain >> 8) + texture);
    *out++ = Clamp((surface.colour[2] * gain >> 8) + texture - tint);
    if (++x == width) {
      x = 0;
      ++y;
    }
  }
}

void PicturePainter::AddGrain(const PictureLook& look, int width, Random& random, std::span<uint8_t> rgb) const {
  const int from_x = RandomBetween(random, 0, NoiseTile::kSide - 1);
  const int from_y = RandomBetween(random, 0, NoiseTile::kSide - 1);
  const int height = static_cast<int>(rgb.size() / 3) / width;
  uint8_t* out = rgb.data();
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const int grey = grain_.At(from_x + x, from_y + y);
      for (int channel = 0; channel < 3; ++channel, ++out) {
        const int own = grain_.At(from_y + x, from_x + y + 131 * channel);
        *out = Clamp(*out + ((3 * grey + own) * look.grain + 128) / 256);
      }
    }
  }
}

}  // namespace stoker
