// Writes the inputs that the fuzzers start from: `fuzz_seeds CORPUS` makes CORPUS/<fuzzer>/<seed>. Small, since a
// fuzzer tries the more the shorter they are, and one of each kind, since it does not find a file format by itself.
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>

#include "loader/index/index_writer.h"
#include "tests/decode/encode.h"

namespace stoker {
namespace {

using Seeds = std::map<std::string, Bytes>;

void AddJpegs(Seeds& seeds) {
  const Picture colour = MakePicture({40, 24}, 3, 1);
  const Picture inks = MakePicture({19, 33}, 4, 2);
  seeds["jpeg-444"] = EncodeJpeg(colour, {.quality = 80});
  seeds["jpeg-420-restart"] = EncodeJpeg(colour, {.luma_h = 2, .luma_v = 2, .restart_interval = 2});
  seeds["jpeg-422-progressive"] = EncodeJpeg(colour, {.luma_h = 2, .progressive = true});
  seeds["jpeg-arithmetic"] = EncodeJpeg(colour, {.arithmetic = true});
  seeds["jpeg-one-scan-each"] = EncodeJpeg(colour, {.interleaved = false});
  seeds["jpeg-rgb"] = EncodeJpeg(colour, {.colour = JpegColour::kRgb});
  seeds["jpeg-gray"] = EncodeJpeg(MakePicture({17, 9}, 1, 3), {.colour = JpegColour::kGray});
  seeds["jpeg-cmyk"] = EncodeJpeg(inks, {.colour = JpegColour::kCmyk});
  seeds["jpeg-ycck"] = EncodeJpeg(inks, {.colour = JpegColour::kYcck});
  seeds["jpeg-exif"] = EncodeJpeg(colour, {.app1 = MakeApp1(6)});
}

void AddPngs(Seeds& seeds) {
  const Picture picture = MakePicture({23, 15}, 4, 4);
  seeds["png-rgb"] = EncodePng(picture);
  seeds["png-rgba-16-interlaced"] =
      EncodePng(picture, {.colour = PngColour::kRgba, .bit_depth = 16, .interlaced = true});
  seeds["png-palette-2"] = EncodePng(picture, {.colour = PngColour::kPalette, .bit_depth = 2, .transparency = true});
  seeds["png-gray-1"] = EncodePng(picture, {.colour = PngColour::kGray, .bit_depth = 1});
  seeds["png-gray-alpha"] = EncodePng(picture, {.colour = PngColour::kGrayAlpha});
  seeds["png-exif"] = EncodePng(picture, {.chunks = {{"eXIf", MakeExif(3, true)}}});
}

void AddOthers(Seeds& seeds) {
  const Picture colour = MakePicture({20, 14}, 3, 5);
  const Picture alpha = MakePicture({12, 18}, 4, 6);
  seeds["webp-lossy"] = EncodeWebp(colour, {.lossless = false});
  seeds["webp-lossless-alpha-exif"] = EncodeWebp(alpha, {.alpha = true, .exif = MakeExif(8)});
  const WebpFrame frames[] = {{MakePicture({16, 16}, 3, 7)}, {MakePicture({8, 6}, 3, 8), 4, 2}};
  seeds["webp-animation"] = EncodeWebpAnimation({16, 16}, frames);
  seeds["bmp-24"] = EncodeBmp(colour);
  seeds["bmp-8-top-down"] = EncodeBmp(MakePicture({7, 5}, 1, 9), {.bits = 8, .top_down = true});
  seeds["tiff-rgb"] = EncodeTiff(colour, {.orientation = 5});
  seeds["tiff-16-big-endian"] = EncodeTiff(colour, {.bits = 16, .big_endian = true});
}

// What decode_fuzz reads off its first byte: everything; EXIF, smaller, the middle; gray, strict, one pixel; EXIF, a
// strip.
constexpr uint8_t kDecodeChoices[] = {0x00, 0x1a, 0x25, 0x32};

Seeds DecodeSeeds() {
  Seeds pictures;
  AddJpegs(pictures);
  AddPngs(pictures);
  AddOthers(pictures);
  Seeds seeds;
  for (const auto& [name, bytes] : pictures) {
    for (const uint8_t choice : kDecodeChoices) {
      Bytes& seed = seeds[name + "-" + std::to_string(choice)];
      seed.push_back(choice);
      seed.insert(seed.end(), bytes.begin(), bytes.end());
    }
  }
  return seeds;
}

// Command lines of `stoker run`, one word a line.
Seeds OptionsSeeds() {
  Seeds seeds;
  const auto add = [&](const std::string& name, std::string_view words) {
    seeds[name] = Bytes(words.begin(), words.end());
  };
  add("order",
      "photos\n--batch-size\n64\n--drop-last\n--no-shuffle\n--seed\n7\n--epochs\n2\n--rank\n1\n--world-size\n2");
  add("pixels",
      "photos\n--transform\neval\n--size\n64\n--dtype\nfloat16\n--layout\nnhwc\n--mean\n0.5,0.5,0.5\n--std\n1,1,1");
  add("gray", "photos\n--transform\nnone\n--interpolation\nbicubic\n--decode\nfast\n--channels\ngray\n--exif");
  add("index", "photos\n--index\nsome/folder");
  add("pipeline", "photos\n--num-workers\n0\n--prefetch-factor\n4\n--reader\npread\n--queue-depth\n8\n--device\nsim");
  add("limits",
      "--list\nx\n--classes\ny\n--memory-limit\n2GB\n--max-file-bytes\n1MB\n--max-pixels\n9\n--read-deadline\n0.5");
  add("errors", "photos\n--on-error=mask\n--max-errors\n3\n--strict\n--allow-empty\n--step-ms\n1.5\n--json\n-");
  return seeds;
}

// What index_fuzz reads off its first byte: nothing is mended; everything is.
constexpr uint8_t kIndexChoices[] = {0, 3};

// An index as it is written, of the set that index_fuzz knows.
Seeds IndexSeeds(const std::filesystem::path& scratch) {
  JpegMarks marks;
  const std::string path = (scratch / "index").string();
  WriteIndexFile(path, {2100, {1, 2}}, [&](uint64_t id) {
    marks.Assign(Bytes(id % 700 == 3 ? 20 : 0, 1));
    return marks.packed();
  });
  std::ifstream file(path, std::ios::binary);
  const Bytes bytes((std::istreambuf_iterator<char>(file)), {});
  std::filesystem::remove(path);
  Seeds seeds;
  for (const uint8_t choice : kIndexChoices) {
    Bytes& seed = seeds["index-" + std::to_string(choice)];
    seed.push_back(choice);
    seed.insert(seed.end(), bytes.begin(), bytes.end());
  }
  return seeds;
}

// What entropy_fuzz reads off its first byte: each CPU path, two lanes and one.
constexpr uint8_t kEntropyChoices[] = {0, 1, 2, 5};
constexpr size_t kEntropyChoiceBytes = 24;

// The kinds that the own decoder takes, and some large enough for a second lane.
Seeds EntropySeeds() {
  const Picture colour = MakePicture({56, 40}, 3, 1);
  const Picture large = MakePicture({150, 110}, 3, 3);
  Seeds pictures;
  pictures["gray"] = EncodeJpeg(MakePicture({33, 19}, 1, 2), {.colour = JpegColour::kGray});
  pictures["444"] = EncodeJpeg(colour, {.quality = 60});
  pictures["422-optimized"] = EncodeJpeg(colour, {.luma_h = 2, .optimized = true});
  pictures["440-restart"] = EncodeJpeg(colour, {.luma_v = 2, .restart_interval = 3});
  pictures["420-restart"] = EncodeJpeg(colour, {.luma_h = 2, .luma_v = 2, .restart_interval = 4});
  pictures["420-fine"] = EncodeJpeg(colour, {.quality = 100, .luma_h = 2, .luma_v = 2});
  pictures["420-large"] = EncodeJpeg(large, {.quality = 95, .luma_h = 2, .luma_v = 2});
  pictures["444-large"] = EncodeJpeg(large, {.quality = 80, .optimized = true});
  pictures["420-separate"] = EncodeJpeg(colour, {.luma_h = 2, .luma_v = 2, .interleaved = false});
  pictures["422-separate-restart"] =
      EncodeJpeg(colour, {.luma_h = 2, .interleaved = false, .restart_interval = 3, .optimized = true});
  pictures["444-separate-large"] = EncodeJpeg(large, {.quality = 90, .interleaved = false});
  Seeds seeds;
  for (const auto& [name, bytes] : pictures) {
    for (const uint8_t choice : kEntropyChoices) {
      Bytes& seed = seeds[name + "-" + std::to_string(choice)];
      seed.assign(kEntropyChoiceBytes, choice);
      seed.insert(seed.end(), bytes.begin(), bytes.end());
    }
  }
  return seeds;
}

void Write(const std::filesystem::path& folder, const Seeds& seeds) {
  std::filesystem::create_directories(folder);
  for (const auto& [name, bytes] : seeds) {
    std::ofstream file;
    file.exceptions(std::ios::failbit | std::ios::badbit);
    file.open(folder / name, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    file.close();
  }
}

}  // namespace
}  // namespace stoker

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::fprintf(stderr, "usage: fuzz_seeds CORPUS\n");
    return 2;
  }
  const std::filesystem::path corpus = argv[1];
  stoker::Write(corpus / "decode_fuzz", stoker::DecodeSeeds());
  stoker::Write(corpus / "entropy_fuzz", stoker::EntropySeeds());
  stoker::Write(corpus / "options_fuzz", stoker::OptionsSeeds());
  stoker::Write(corpus / "index_fuzz", stoker::IndexSeeds(corpus));
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "fuzz_seeds: %s\n", error.what());
  return 1;
}
