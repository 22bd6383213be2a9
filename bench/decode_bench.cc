// JPEGs in memory: a crop's region and the whole picture by libjpeg-turbo and by our own decoder, and the entropy-coded
// part alone. STOKER_CPU chooses the CPU path of ours. One iteration is one picture.
//
//   decode_bench [FOLDER] [--benchmark_...]      (without FOLDER: made-up pictures)
#define JPEG_INTERNALS  // the library's own view of itself, for its entropy decoder alone

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <vector>

#include "augment/plan.h"
#include "augment/recipe.h"
#include "bench/jpeg_photos.h"
#include "decode/decoder.h"
#include "decode/jpeg/entropy_decoder.h"
#include "decode/jpeg/reconstruction.h"
#include "decode/jpeg_frame.h"

namespace stoker {
namespace {

struct Photo {
  JpegBytes bytes;
  JpegFrame frame;
  Rect crop;  // as RandomResizedCrop draws it
  Rect whole;
  std::vector<uint8_t> marks;
};

// All pictures, that our decoder takes.
std::vector<Photo>& Photos() {
  static std::vector<Photo> photos;
  return photos;
}

void Prepare(std::vector<JpegBytes> files) {
  const CompiledRecipe recipe(TrainRecipe(224, ElementType::kUint8));
  EntropyDecoder decoder;
  for (size_t i = 0; i < files.size(); ++i) {
    Photo photo;
    JpegHeader library(files[i]);
    if (!ReadFrame(library.decompress(), library.scan_offset(), photo.frame)) continue;
    Plan plan;
    if (MakePlan(recipe, photo.frame.size, {1, 0, i}, plan) != PlanError::kNone) continue;
    photo.crop = plan.region;
    photo.whole = {0, 0, photo.frame.size.width, photo.frame.size.height};
    photo.bytes = std::move(files[i]);
    const McuWindow all = {0, 0, photo.frame.mcus_across, photo.frame.mcus_down};
    McuRow row;
    bool good = decoder.Start(photo.bytes, photo.frame, all, {});
    for (int32_t y = 0; good && y < all.y1; ++y) good = decoder.Next(row);
    if (!good) continue;
    JpegMarks marks;
    marks.Pack(photo.bytes, photo.frame, decoder.marks());
    photo.marks.assign(marks.packed().begin(), marks.packed().end());
    Photos().push_back(std::move(photo));
  }
}

// Goes round the pictures.
template <class Work>
void ForEach(benchmark::State& state, Work&& work) {
  size_t i = 0;
  while (state.KeepRunningBatch(static_cast<benchmark::IterationCount>(Photos().size()))) {
    for (i = 0; i < Photos().size(); ++i) work(Photos()[i]);
  }
}

enum class Part { kCrop, kWhole };

void Decode(benchmark::State& state, JpegEntropy entropy, Part part, bool with_marks) {
  Decoder decoder({.jpeg_entropy = entropy});
  Image image;
  JpegMarks marks;
  ForEach(state, [&](const Photo& photo) {
    if (with_marks) marks.Assign(photo.marks);
    RegionBox box;
    Diagnosis diagnosis;
    DecodeRequest request = {part == Part::kCrop ? photo.crop : photo.whole, Channels::kRgb, {}};
    request.marks = with_marks ? &marks : nullptr;
    if (decoder.Decode(photo.bytes, request, image, box, diagnosis)) state.SkipWithError(diagnosis.detail);
    benchmark::DoNotOptimize(image.row(0));
  });
}

void EntropyOfLibrary(benchmark::State& state) {
  alignas(64) static JBLOCK blocks[D_MAX_BLOCKS_IN_MCU];
  JBLOCKROW rows[D_MAX_BLOCKS_IN_MCU];
  for (size_t i = 0; i < std::size(rows); ++i) rows[i] = &blocks[i];
  ForEach(state, [&](const Photo& photo) {
    JpegHeader library(photo.bytes);
    jpeg_decompress_struct& decompress = library.decompress();
    jpeg_start_decompress(&decompress);
    const int64_t mcus = int64_t{photo.frame.mcus_across} * photo.frame.mcus_down;
    for (int64_t i = 0; i < mcus; ++i) {
      std::fill_n(&blocks[0][0], decompress.blocks_in_MCU * kBlockCoefficients, JCOEF{0});  // as the library does
      decompress.entropy->decode_mcu(&decompress, rows);
      benchmark::DoNotOptimize(blocks[0][0]);
    }
  });
}

void Entropy(benchmark::State& state, Part part, int lanes, bool with_marks) {
  EntropyDecoder decoder;
  decoder.set_lanes(lanes);
  JpegMarks marks;
  ForEach(state, [&](const Photo& photo) {
    const McuWindow all = {0, 0, photo.frame.mcus_across, photo.frame.mcus_down};
    const McuWindow window = part == Part::kWhole ? all : Reconstruction::WindowOf(photo.frame, photo.crop, 1);
    std::span<const RowMark> known;
    if (with_marks) {
      marks.Assign(photo.marks);
      known = marks.Unpack(photo.bytes, photo.frame);
    }
    McuRow row;
    bool good = decoder.Start(photo.bytes, photo.frame, window, known);
    for (int32_t y = window.y0; good && y < window.y1; ++y) good = decoder.Next(row);
    if (!good) state.SkipWithError("odd data");
    benchmark::DoNotOptimize(row);
  });
}

BENCHMARK_CAPTURE(Decode, crop_library, JpegEntropy::kLibrary, Part::kCrop, false);
BENCHMARK_CAPTURE(Decode, crop_first_epoch, JpegEntropy::kOwn, Part::kCrop, false);
BENCHMARK_CAPTURE(Decode, crop_with_marks, JpegEntropy::kOwn, Part::kCrop, true);
BENCHMARK_CAPTURE(Decode, whole_library, JpegEntropy::kLibrary, Part::kWhole, false);
BENCHMARK_CAPTURE(Decode, whole_first_epoch, JpegEntropy::kOwn, Part::kWhole, false);
BENCHMARK_CAPTURE(Decode, whole_with_marks, JpegEntropy::kOwn, Part::kWhole, true);
BENCHMARK(EntropyOfLibrary);
BENCHMARK_CAPTURE(Entropy, whole_one_lane, Part::kWhole, 1, false);
BENCHMARK_CAPTURE(Entropy, whole_two_lanes, Part::kWhole, 2, false);
BENCHMARK_CAPTURE(Entropy, whole_two_lanes_with_marks, Part::kWhole, 2, true);
BENCHMARK_CAPTURE(Entropy, crop_one_lane, Part::kCrop, 1, false);
BENCHMARK_CAPTURE(Entropy, crop_two_lanes, Part::kCrop, 2, false);
BENCHMARK_CAPTURE(Entropy, crop_two_lanes_with_marks, Part::kCrop, 2, true);

int Main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  Prepare(JpegsOf(argc > 1 ? argv[1] : nullptr));
  if (Photos().empty()) {
    std::fputs("decode_bench: no JPEGs that the own decoder takes\n", stderr);
    return 1;
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace
}  // namespace stoker

int main(int argc, char** argv) { return stoker::Main(argc, argv); }
