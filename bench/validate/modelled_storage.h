// Storage that is nothing but a time: one picture, held in memory, that arrives when the model says so.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/validate/service_time.h"
#include "loader/reader.h"
#include "loader/source.h"

namespace stoker {

struct StorageModel {
  uint64_t seed = 0;
  ServiceTime latency;    // of each read; queue_depth of them at once
  ServiceTime bandwidth;  // what the bytes of each read take on top, one read after the other
};

// `pictures` samples that are all the same picture.
class OnePicture final : public Source {
 public:
  OnePicture(std::vector<uint8_t> picture, uint64_t pictures) : picture_(std::move(picture)), pictures_(pictures) {}

  const std::vector<uint8_t>& picture() const noexcept { return picture_; }
  uint64_t size() const noexcept override { return pictures_; }
  int64_t Label(uint64_t) const noexcept override { return 0; }
  std::string Name(uint64_t id) const override { return "picture " + std::to_string(id); }
  Extents ExtentsOf(uint64_t id, const DecodeRequest*) const noexcept override {
    Extents extents;
    extents.Add({static_cast<uint32_t>(id), 0, picture_.size(), true});
    return extents;
  }
  bool Path(uint32_t, char*, size_t) const noexcept override { return false; }
  uint64_t TypicalBytes() const noexcept override { return picture_.size(); }
  size_t memory_bytes() const noexcept override { return picture_.size(); }

 private:
  const std::vector<uint8_t> picture_;
  const uint64_t pictures_;
};

// Reads from it in the model's time, on the clock of `options`. The source outlives it.
std::unique_ptr<Reader> MakeModelledReader(const OnePicture& source, const StorageModel& model,
                                           const Reader::Options& options);

}  // namespace stoker
