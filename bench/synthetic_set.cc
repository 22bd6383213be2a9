#include "bench/synthetic_set.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <span>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "augment/random.h"
#include "bench/picture_encoder.h"
#include "bench/synthetic_picture.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

constexpr char kMarker[] = ".stoker-set";
constexpr int kVersion = 1;  // of the pictures: changed whenever the same options give other bytes

enum class Kind { k444, k420, k422, kGray, kCmyk, kProgressive, kPng, kWebp, kBroken };

const char* FileEnding(Kind kind) {
  switch (kind) {
    case Kind::k444:
      return "444.jpg";
    case Kind::k420:
      return "420.jpg";
    case Kind::k422:
      return "422.jpg";
    case Kind::kGray:
      return "gray.jpg";
    case Kind::kCmyk:
      return "cmyk.jpg";
    case Kind::kProgressive:
      return "progressive.jpg";
    case Kind::kPng:
      return "rgb.png";
    case Kind::kWebp:
      return "lossy.webp";
    case Kind::kBroken:
      return "broken.jpg";
  }
  return "";
}

// By position, not by chance, so that the shares are exact and even a small set has every kind.
Kind KindOf(int picture, bool odd_files) {
  if (picture % 50 == 6) return Kind::kGray;
  if (odd_files) {
    if (picture == 1) return Kind::kWebp;
    if (picture == 2) return Kind::kBroken;
    if (picture % 200 == 3) return Kind::kCmyk;
    if (picture % 100 == 4) return Kind::kProgressive;
    if (picture % 100 == 5) return Kind::kPng;
  }
  const int slot = picture * 37 % 100;  // 37 has no divisor in common with 100: each slot once in a hundred
  return slot < 76 ? Kind::k444 : slot < 96 ? Kind::k420 : Kind::k422;
}

struct Size {
  int width;
  int height;
};

// A draw from the distribution with these evenly spaced quantiles.
int Draw(Random& random, std::span<const int> quantiles) {
  const auto position = random.Below(static_cast<uint32_t>(quantiles.size() - 1) << 10);
  const int low = quantiles[position >> 10], high = quantiles[(position >> 10) + 1];
  return low + (high - low) * static_cast<int>(position & 1023) / 1024;
}

Size DrawSize(Random& random) {
  constexpr int kUsualShortSides[] = {375, 375, 375, 375, 375, 333, 333, 332, 334, 400};
  constexpr int kLongSides[] = {230, 300, 350, 400, 440, 480, 500, 540, 600, 700, 900};
  constexpr int kSmallShortSides[] = {60, 100, 140, 180, 223};
  constexpr int kBigLongSides[] = {1200, 1280, 1440, 1600, 2000};
  constexpr int kAspects[] = {60, 66, 70, 75, 75, 80, 100};  // short side, per cent of the long one
  int long_side = 500, short_side = 375;
  const uint32_t kind = random.Below(100);
  if (kind < 66) {
    short_side = kUsualShortSides[random.Below(std::size(kUsualShortSides))];
  } else if (kind < 91) {
    long_side = Draw(random, kLongSides);
    short_side = long_side * Draw(random, kAspects) / 100;
  } else if (kind < 98) {
    short_side = Draw(random, kSmallShortSides);
    long_side = short_side * 100 / Draw(random, kAspects);
  } else {
    long_side = Draw(random, kBigLongSides);
    short_side = long_side * 3 / 4;
  }
  return random.Below(10) < 3 ? Size{short_side, long_side} : Size{long_side, short_side};
}

JpegKind JpegKindOf(Kind kind) {
  switch (kind) {
    case Kind::k420:
      return JpegKind::k420;
    case Kind::k422:
      return JpegKind::k422;
    case Kind::kGray:
      return JpegKind::kGray;
    case Kind::kCmyk:
      return JpegKind::kCmyk;
    case Kind::kProgressive:
      return JpegKind::kProgressive;
    default:
      return JpegKind::k444;
  }
}

std::vector<uint8_t> MakeFile(const PicturePainter& painter, int picture, Kind kind, uint64_t seed) {
  // Chosen so that bits a pixel, bytes a file and decoding time come out as in a set of photographs.
  constexpr int kDetail[] = {16, 64, 104, 144, 184, 224, 272, 328, 400, 520};
  constexpr int kGrain[] = {0, 1, 2, 3, 4, 6};
  constexpr int kQualities[] = {68, 84, 91, 93, 95, 96, 97, 98, 99, 99};
  Random random({.seed = seed, .position = static_cast<uint64_t>(picture)}, 3);
  const Size size = DrawSize(random);
  const int quality = Draw(random, kQualities);
  const PictureLook look = {.detail = Draw(random, kDetail), .grain = Draw(random, kGrain)};
  std::vector<uint8_t> rgb;
  painter.Paint(size.width, size.height, look, random, rgb);
  if (kind == Kind::kPng) return EncodePng(rgb, size.width, size.height);
  if (kind == Kind::kWebp) return EncodeWebp(rgb, size.width, size.height, quality);
  std::vector<uint8_t> file = EncodeJpeg(rgb, size.width, size.height, JpegKindOf(kind), quality);
  constexpr size_t kCutAt = 100;  // in the quantisation tables: not even the size can be read
  if (kind == Kind::kBroken) file.resize(std::min(file.size(), kCutAt));
  return file;
}

std::string MarkerText(const SyntheticOptions& options) {
  std::ostringstream text;
  text << "stoker synthetic set " << kVersion << "\npictures " << options.pictures << "\nclasses " << options.classes
       << "\nseed " << options.seed << "\nodd_files " << options.odd_files << "\n";
  return text.str();
}

fs::path ClassFolder(const fs::path& folder, int label) {
  char name[32];
  std::snprintf(name, sizeof(name), "class-%02d", label);
  return folder / name;
}

void WriteFile(const fs::path& path, std::span<const char> bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) throw fs::filesystem_error("cannot write", path, std::make_error_code(std::errc::io_error));
}

// Fills the class folders, one thread a core; the first exception of any of them is thrown again here.
void WritePictures(const fs::path& folder, const SyntheticOptions& options) {
  const PicturePainter painter(options.seed);
  std::atomic<int> next = 0;
  std::vector<std::exception_ptr> errors(std::max(1U, std::thread::hardware_concurrency()));
  std::vector<std::thread> threads;
  threads.reserve(errors.size());
  for (std::exception_ptr& error : errors) {
    threads.emplace_back([&] {
      try {
        for (int picture = next++; picture < options.pictures; picture = next++) {
          const Kind kind = KindOf(picture, options.odd_files);
          const auto label = static_cast<int>(int64_t{picture} * options.classes / options.pictures);
          char name[64];
          std::snprintf(name, sizeof(name), "%05d-%s", picture, FileEnding(kind));
          const std::vector<uint8_t> file = MakeFile(painter, picture, kind, options.seed);
          WriteFile(ClassFolder(folder, label) / name, {reinterpret_cast<const char*>(file.data()), file.size()});
        }
      } catch (...) {
        error = std::current_exception();
        next = options.pictures;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace

void WriteSyntheticSet(const fs::path& folder, const SyntheticOptions& options) {
  if (fs::exists(folder) && !fs::is_empty(folder)) {
    throw fs::filesystem_error("folder is not empty", folder, std::make_error_code(std::errc::file_exists));
  }
  fs::path partial = folder;
  partial += ".partial";
  fs::remove_all(partial);  // of an earlier, interrupted run
  for (int label = 0; label < options.classes; ++label) fs::create_directories(ClassFolder(partial, label));
  WritePictures(partial, options);
  WriteFile(partial / kMarker, MarkerText(options));
  fs::rename(partial, folder);
}

bool SyntheticSetExists(const fs::path& folder, const SyntheticOptions& options) {
  std::ifstream file(folder / kMarker, std::ios::binary);
  return file && std::string(std::istreambuf_iterator<char>(file), {}) == MarkerText(options);
}

}  // namespace stoker
