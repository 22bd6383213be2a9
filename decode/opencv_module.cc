#include "decode/opencv_module.h"

#include <dlfcn.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>

#include "decode/tiff_directory.h"

namespace stoker {
namespace {

constexpr char kFileName[] = "libstoker_opencv.so";

// The module, or why there is none. Loaded once, never unloaded.
struct Loaded {
  const OpencvModule* module = nullptr;
  char why[sizeof(Diagnosis::detail)] = {};

  bool Load(const char* path) noexcept {
    void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      const char* const reason = dlerror();
      std::snprintf(why, sizeof(why), "OpenCV module: %s", reason != nullptr ? reason : "not found");
      return false;
    }
    const auto* found = static_cast<const OpencvModule*>(dlsym(library, OpencvModule::kSymbol));
    if (found == nullptr || found->version != OpencvModule::kVersion) {
      std::snprintf(why, sizeof(why), "OpenCV module: another version");
      return false;
    }
    module = found;
    return true;
  }
};

// Beside the binary that holds this code; in ../lib where that binary is a program in bin/; then wherever the loader
// looks.
Loaded LoadModule() noexcept {
  Loaded loaded;
  static const char anchor = 0;
  Dl_info self;
  if (dladdr(&anchor, &self) != 0 && self.dli_fname != nullptr) {
    const char* const slash = std::strrchr(self.dli_fname, '/');
    const int folder_length = slash != nullptr ? static_cast<int>(slash - self.dli_fname) : 1;
    const char* const folder = slash != nullptr ? self.dli_fname : ".";
    for (const char* beside : {"/", "/../lib/"}) {
      char path[4096];
      const int length = std::snprintf(path, sizeof(path), "%.*s%s%s", folder_length, folder, beside, kFileName);
      if (length < static_cast<int>(sizeof(path)) && loaded.Load(path)) return loaded;
    }
  }
  loaded.Load(kFileName);
  return loaded;
}

// OpenCV turns TIFFs by their orientation whatever it is told, and multiplies colours by alpha. It is shown a copy in
// which the two tags say otherwise; nothing is returned where they need no change, or where there is no memory.
std::unique_ptr<uint8_t[]> BlankTags(std::span<const uint8_t> bytes, bool& failed) noexcept {
  const TiffDirectory directory(bytes);
  std::unique_ptr<uint8_t[]> copy;
  struct Change {
    TiffDirectory::Tag tag;
    uint8_t harmless;
  };
  for (const Change& change :
       std::array{Change{TiffDirectory::kOrientation, 1}, Change{TiffDirectory::kExtraSamples, 0}}) {
    const auto place = directory.Locate(change.tag);
    if (!place) continue;
    if (!copy) {
      copy.reset(new (std::nothrow) uint8_t[bytes.size()]);
      failed = !copy;
      if (failed) return copy;
      std::memcpy(copy.get(), bytes.data(), bytes.size());
    }
    uint8_t* const value = copy.get() + place->offset_bytes;
    std::memset(value, 0, static_cast<size_t>(place->width_bytes));
    value[bytes[0] == 'I' ? 0 : place->width_bytes - 1] = change.harmless;
  }
  return copy;
}

}  // namespace

std::error_code DecodeWithOpencv(std::span<const uint8_t> bytes, ImageSize size, Image& image,
                                 Diagnosis& diagnosis) noexcept {
  const bool is_tiff = diagnosis.format == Format::kTiff;
  if (const std::error_code error = is_tiff ? CheckTiff(bytes, diagnosis) : CheckBmp(bytes, diagnosis)) return error;
  static const Loaded loaded = LoadModule();
  if (loaded.module == nullptr) {
    diagnosis.Say(loaded.why);
    return DecodeError::kUnsupported;
  }
  bool no_memory = false;
  const std::unique_ptr<uint8_t[]> copy = is_tiff ? BlankTags(bytes, no_memory) : nullptr;
  if (no_memory || !image.Reset(size, 3)) return DecodeError::kOutOfMemory;

  char words[sizeof(diagnosis.detail)] = {};
  switch (loaded.module->decode(copy ? copy.get() : bytes.data(), bytes.size(), size.width, size.height, image.row(0),
                                image.stride_bytes(), words, sizeof(words))) {
    case OpencvModule::kDone:
      return {};
    case OpencvModule::kNoMemory:
      return DecodeError::kOutOfMemory;
    case OpencvModule::kOtherSize:
      diagnosis.Say("the decoded size is not the header's");
      return DecodeError::kCorrupt;
    case OpencvModule::kFailed:
      break;
  }
  diagnosis.Say(words);
  return DecodeError::kCorrupt;
}

}  // namespace stoker
