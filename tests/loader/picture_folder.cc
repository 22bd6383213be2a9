#include "tests/loader/picture_folder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <stdexcept>

namespace stoker {

TempFolder::TempFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "stoker-test-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
  path_ = name;
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void TempFolder::Write(const std::string& name, const Bytes& bytes) const {
  const std::filesystem::path file = path_ / name;
  std::filesystem::create_directories(file.parent_path());
  std::ofstream out(file, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!out) throw std::runtime_error("cannot write " + file.string());
}

Bytes GoodJpeg(uint32_t seed) {
  const auto number = static_cast<int32_t>(seed);
  return EncodeJpeg(MakePicture({60 + number * 7 % 90, 50 + number * 13 % 70}, 3, seed));
}

void WritePictures(const TempFolder& folder, int pictures) {
  for (int i = 0; i < pictures; ++i) {
    const auto seed = static_cast<uint32_t>(i);
    const ImageSize size = {60 + i * 7 % 90, 50 + i * 13 % 70};
    Bytes bytes;
    const char* extension = "jpg";
    if (i % 7 == 3) {
      bytes = EncodePng(MakePicture(size, 3, seed));
      extension = "png";
    } else if (i % 7 == 5) {
      bytes = EncodeWebp(MakePicture(size, 3, seed));
      extension = "webp";
    } else {
      const bool gray = i % 5 == 4;
      bytes = EncodeJpeg(MakePicture(size, gray ? 1 : 3, seed), {.colour = gray ? JpegColour::kGray : JpegColour::kYcc,
                                                                 .luma_h = 1 + i % 2,
                                                                 .luma_v = 1 + i / 2 % 2,
                                                                 .progressive = i % 3 == 2});
    }
    folder.Write(fmt::format("class{}/{:04}.{}", i % 3, i, extension), bytes);
  }
}

}  // namespace stoker
