// Batches copied out of a loader, for comparison.
#pragma once

#include <cstdint>
#include <functional>
#include <ostream>
#include <string_view>
#include <vector>

#include "loader/loader.h"
#include "tests/decode/encode.h"

namespace stoker {

struct LoadedBatch {
  uint64_t epoch = 0;
  uint64_t position = 0;
  Bytes pixels;
  std::vector<int64_t> labels;
  std::vector<int64_t> ids;
  std::vector<uint8_t> valid;

  Bytes PixelsOf(size_t sample) const {
    const size_t bytes = pixels.size() / ids.size();
    const auto begin = pixels.begin() + static_cast<std::ptrdiff_t>(sample * bytes);
    return Bytes(begin, begin + static_cast<std::ptrdiff_t>(bytes));
  }
  friend bool operator==(const LoadedBatch&, const LoadedBatch&) = default;
};

// What a failed comparison shows of a batch.
inline void PrintTo(const LoadedBatch& batch, std::ostream* out) {
  const std::string_view bytes(reinterpret_cast<const char*>(batch.pixels.data()), batch.pixels.size());
  *out << "epoch " << batch.epoch << " position " << batch.position << " pixels' hash "
       << std::hash<std::string_view>()(bytes) << " ids";
  for (size_t i = 0; i < batch.ids.size(); ++i) *out << " " << batch.ids[i] << (batch.valid[i] != 0 ? "" : "(invalid)");
}

inline LoadedBatch Copy(const Batch& batch) {
  LoadedBatch copy;
  copy.epoch = batch.epoch();
  copy.position = batch.position();
  copy.pixels.resize(batch.pixel_bytes());
  batch.CopyPixelsTo(std::as_writable_bytes(std::span(copy.pixels)));
  copy.labels.assign(batch.labels().begin(), batch.labels().end());
  copy.ids.assign(batch.ids().begin(), batch.ids().end());
  copy.valid.assign(batch.valid().begin(), batch.valid().end());
  return copy;
}

inline std::vector<LoadedBatch> DrainEpochs(Loader& loader, int epochs) {
  std::vector<LoadedBatch> batches;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    while (const auto batch = loader.Next()) batches.push_back(Copy(*batch));
  }
  return batches;
}

}  // namespace stoker
