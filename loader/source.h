// What exists: samples by id, where their bytes are, their labels and names. Says nothing of order or reading.
#pragma once

#include <array>
#include <cassert>
#include <cstdint>
#include <optional>
#include <string>

#include "decode/decoder.h"
#include "decode/image.h"

namespace stoker {

// Where bytes are: a locator, not a descriptor. The reader resolves `file` through Source::Path.
struct Extent {
  uint32_t file = 0;
  uint64_t offset_bytes = 0;
  uint64_t bytes = 0;
  // The extent is the whole of its file, whose size was taken when the source was made: more or fewer bytes are an
  // error.
  bool whole_file = false;
};

// The ranges of one sample, landing side by side in one read buffer, in this order.
class Extents {
 public:
  static constexpr uint32_t kMax = 4;

  // Requires: size() < kMax.
  void Add(const Extent& extent) noexcept {
    assert(size_ < kMax);
    items_[size_++] = extent;
  }
  uint32_t size() const noexcept { return size_; }
  const Extent& operator[](uint32_t i) const noexcept { return items_[i]; }
  uint64_t bytes() const noexcept {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < size_; ++i) sum += items_[i].bytes;
    return sum;
  }

 private:
  std::array<Extent, kMax> items_;
  uint32_t size_ = 0;
};

// Immutable after construction, so every function is safe from any thread; none blocks or throws unless said.
class Source {
 public:
  virtual ~Source() = default;

  virtual uint64_t size() const noexcept = 0;
  // The class index; -1 where there is none.
  virtual int64_t Label(uint64_t id) const noexcept = 0;
  // For messages and on request; allocates. Valid UTF-8 even where the file's name is not.
  virtual std::string Name(uint64_t id) const = 0;

  // The picture's size where it is known without reading: the sample is then planned before it is read.
  virtual std::optional<ImageSize> PictureSize(uint64_t) const noexcept { return std::nullopt; }
  // What to read. `request` is null where nothing is planned yet: then everything. Otherwise at least what decoding the
  // requested region needs.
  virtual Extents ExtentsOf(uint64_t id, const DecodeRequest* request) const noexcept = 0;

  // Writes the path of `file` with its terminating NUL. Returns false where it does not fit.
  virtual bool Path(uint32_t file, char* path, size_t capacity) const noexcept = 0;

  // A size that nearly all samples fit in: what read buffers are made for.
  virtual uint64_t TypicalBytes() const noexcept = 0;
  // Memory held for names, sizes and labels.
  virtual size_t memory_bytes() const noexcept = 0;
};

}  // namespace stoker
