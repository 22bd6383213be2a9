// What comes behind a JPEG's entropy decoder, alone: coefficients to RGB of whole pictures, and of that the inverse
// transform and the colour conversion, by libjpeg-turbo and by our kernels. One iteration is one picture. STOKER_CPU
// chooses the CPU path of ours.
//
//   back_end_bench [FOLDER] [--benchmark_...]      (without FOLDER: made-up pictures)
#define JPEG_INTERNALS  // the library's stages are behind its own view of itself

#include <benchmark/benchmark.h>

#include <array>
#include <bit>
#include <cstdio>
#include <cstring>
#include <vector>

#include "bench/jpeg_photos.h"
#include "decode/cpu_path.h"
#include "decode/jpeg/entropy_decoder.h"
#include "decode/jpeg/reconstruction.h"
#include "decode/jpeg_frame.h"

namespace stoker {
namespace {

using NaturalBlock = std::array<int16_t, kBlockCoefficients>;  // row by row, as libjpeg has it

// A picture and its coefficients: for each component row after row of blocks.
struct Photo {
  JpegBytes bytes;
  JpegFrame frame;
  std::array<std::vector<CoefficientBlock>, kMaxComponents> blocks;
  std::array<std::vector<int16_t>, kMaxComponents> values;
  std::array<std::vector<NaturalBlock>, kMaxComponents> natural;

  size_t BlocksAcross(size_t component) const {
    return static_cast<size_t>(frame.mcus_across) * static_cast<size_t>(frame.component[component].h);
  }
  McuRow Row(int32_t y) const {
    McuRow row;
    for (size_t c = 0; c < static_cast<size_t>(frame.components); ++c) {
      const auto v = static_cast<size_t>(frame.component[c].v);
      for (size_t j = 0; j < v; ++j) row.blocks[c][j] = &blocks[c][(static_cast<size_t>(y) * v + j) * BlocksAcross(c)];
    }
    return row;
  }
};

void Keep(Photo& photo, size_t component, const CoefficientBlock& block) {
  std::vector<int16_t>& values = photo.values[component];
  const size_t at = values.size();
  const auto count = static_cast<size_t>(std::popcount(block.mask));
  values.insert(values.end(), block.values, block.values + count);
  values.resize(at + count);
  NaturalBlock natural = {};
  natural[0] = block.dc;
  const int16_t* value = block.values;
  for (uint64_t mask = block.mask; mask != 0; mask &= mask - 1) {
    natural[kZigzagPlaces[static_cast<size_t>(std::countr_zero(mask))]] = *value++;
  }
  photo.natural[component].push_back(natural);
  // An offset until all values have their final place.
  photo.blocks[component].push_back({block.mask, reinterpret_cast<const int16_t*>(at), block.dc});
}

bool ReadCoefficients(EntropyDecoder& decoder, Photo& photo) {
  const McuWindow all = {0, 0, photo.frame.mcus_across, photo.frame.mcus_down};
  if (!decoder.Start(photo.bytes, photo.frame, all, {})) return false;
  McuRow row;
  for (int32_t y = 0; y < all.y1; ++y) {
    if (!decoder.Next(row)) return false;
    for (size_t c = 0; c < static_cast<size_t>(photo.frame.components); ++c) {
      for (size_t j = 0; j < static_cast<size_t>(photo.frame.component[c].v); ++j) {
        for (size_t x = 0; x < photo.BlocksAcross(c); ++x) Keep(photo, c, row.blocks[c][j][x]);
      }
    }
  }
  for (size_t c = 0; c < photo.blocks.size(); ++c) {
    photo.values[c].resize(photo.values[c].size() + kBlockCoefficients);
    for (CoefficientBlock& block : photo.blocks[c]) {
      block.values = photo.values[c].data() + reinterpret_cast<size_t>(block.values);
    }
  }
  return true;
}

std::vector<Photo>& Photos() {
  static std::vector<Photo> photos;
  return photos;
}

void Prepare(std::vector<JpegBytes> files) {
  EntropyDecoder decoder;
  for (JpegBytes& file : files) {
    Photo photo;
    photo.bytes = std::move(file);
    JpegHeader library(photo.bytes);
    if (!ReadFrame(library.decompress(), library.scan_offset(), photo.frame) || photo.frame.components == 1) continue;
    if (ReadCoefficients(decoder, photo)) Photos().push_back(std::move(photo));
  }
}

template <class Work>
void ForEach(benchmark::State& state, Work&& work) {
  while (state.KeepRunningBatch(static_cast<benchmark::IterationCount>(Photos().size()))) {
    for (const Photo& photo : Photos()) work(photo);
  }
}

// libjpeg with its entropy decoder replaced by one that copies what is there.
struct Feed {
  jpeg_decompress_struct* decompress = nullptr;
  const Photo* photo = nullptr;
  size_t x = 0, y = 0;  // MCU
};
thread_local Feed feed;

boolean CopyMcu(j_decompress_ptr, JBLOCKROW* blocks) {
  const Photo& photo = *feed.photo;
  size_t at = 0;
  for (size_t c = 0; c < kMaxComponents; ++c) {
    const auto h = static_cast<size_t>(photo.frame.component[c].h);
    const auto v = static_cast<size_t>(photo.frame.component[c].v);
    for (size_t j = 0; j < v; ++j) {
      const NaturalBlock* from = &photo.natural[c][(feed.y * v + j) * photo.BlocksAcross(c) + feed.x * h];
      for (size_t i = 0; i < h; ++i) std::memcpy(blocks[at++], from[i].data(), sizeof(NaturalBlock));
    }
  }
  if (++feed.x == static_cast<size_t>(photo.frame.mcus_across)) {
    feed.x = 0;
    ++feed.y;
  }
  return TRUE;
}

void LibraryBackEnd(benchmark::State& state) {
  std::vector<uint8_t> pixels;
  ForEach(state, [&](const Photo& photo) {
    JpegHeader library(photo.bytes);
    jpeg_decompress_struct& decompress = library.decompress();
    jpeg_start_decompress(&decompress);
    decompress.entropy->decode_mcu = CopyMcu;
    feed = {&decompress, &photo, 0, 0};
    const size_t stride = size_t{decompress.output_width} * 3;
    pixels.resize(stride * decompress.output_height);
    while (decompress.output_scanline < decompress.output_height) {
      JSAMPROW row = &pixels[stride * decompress.output_scanline];
      jpeg_read_scanlines(&decompress, &row, 1);
    }
    jpeg_abort_decompress(&decompress);
  });
}

void OwnBackEnd(benchmark::State& state) {
  Reconstruction reconstruction;
  Image image;
  ForEach(state, [&](const Photo& photo) {
    const Rect whole = {0, 0, photo.frame.size.width, photo.frame.size.height};
    bool good = reconstruction.Start(photo.frame, whole, 1, 3, image);
    for (int32_t y = 0; good && y < photo.frame.mcus_down; ++y) good = reconstruction.Add(photo.Row(y));
    if (!good) state.SkipWithError("beyond 16 bits");
  });
}

constexpr size_t kWidest = 1 << 16;  // samples of a row

void LibraryTransform(benchmark::State& state) {
  std::vector<uint8_t> samples(kBlockSize * kWidest);
  JSAMPROW rows[kBlockSize];
  for (size_t i = 0; i < kBlockSize; ++i) rows[i] = &samples[i * kWidest];
  ForEach(state, [&](const Photo& photo) {
    JpegHeader library(photo.bytes);
    jpeg_decompress_struct& decompress = library.decompress();
    jpeg_start_decompress(&decompress);
    for (size_t c = 0; c < kMaxComponents; ++c) {
      const size_t across = photo.BlocksAcross(c);
      for (size_t i = 0; i < photo.natural[c].size(); ++i) {
        NaturalBlock block = photo.natural[c][i];
        decompress.idct->inverse_DCT[c](&decompress, &decompress.comp_info[c], block.data(), rows,
                                        static_cast<JDIMENSION>(i % across * kBlockSize));
      }
    }
    jpeg_abort_decompress(&decompress);
  });
}

void OwnTransform(benchmark::State& state) {
  const ReconstructionKernels& kernels = KernelsOf(ChosenCpuPath());
  std::vector<uint8_t> samples(kBlockSize * kWidest);
  ForEach(state, [&](const Photo& photo) {
    for (size_t c = 0; c < kMaxComponents; ++c) {
      Quantizers quantizers;
      quantizers.Assign(photo.frame.component[c].quantization);
      const size_t across = photo.BlocksAcross(c);
      for (size_t i = 0; i < photo.blocks[c].size(); i += across) {
        benchmark::DoNotOptimize(kernels.transform(&photo.blocks[c][i], across, quantizers, samples.data(), kWidest));
      }
    }
  });
}

// YCbCr to RGB of a picture that is not subsampled.
void LibraryColor(benchmark::State& state) {
  std::vector<uint8_t> samples(3 * kWidest, 100), rgb(3 * kWidest);
  JSAMPROW planes[3] = {&samples[0], &samples[kWidest], &samples[2 * kWidest]};
  JSAMPARRAY inputs[3] = {&planes[0], &planes[1], &planes[2]};
  JSAMPROW out = rgb.data();
  ForEach(state, [&](const Photo& photo) {
    JpegHeader library(photo.bytes);
    jpeg_decompress_struct& decompress = library.decompress();
    jpeg_start_decompress(&decompress);
    for (int32_t y = 0; y < photo.frame.size.height; ++y) {
      decompress.cconvert->color_convert(&decompress, inputs, 0, &out, 1);
    }
    jpeg_abort_decompress(&decompress);
  });
}

void OwnColor(benchmark::State& state) {
  const ReconstructionKernels& kernels = KernelsOf(ChosenCpuPath());
  std::vector<uint8_t> samples(3 * kWidest, 100), rgb(3 * kWidest);
  ForEach(state, [&](const Photo& photo) {
    for (int32_t y = 0; y < photo.frame.size.height; ++y) {
      kernels.color(&samples[0], &samples[kWidest], &samples[2 * kWidest], static_cast<size_t>(photo.frame.size.width),
                    rgb.data());
      benchmark::ClobberMemory();
    }
  });
}

BENCHMARK(LibraryBackEnd);
BENCHMARK(OwnBackEnd);
BENCHMARK(LibraryTransform);
BENCHMARK(OwnTransform);
BENCHMARK(LibraryColor);
BENCHMARK(OwnColor);

int Main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  Prepare(JpegsOf(argc > 1 ? argv[1] : nullptr));
  if (Photos().empty()) {
    std::fputs("back_end_bench: no JPEGs in colour that the own decoder takes\n", stderr);
    return 1;
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace
}  // namespace stoker

int main(int argc, char** argv) { return stoker::Main(argc, argv); }
