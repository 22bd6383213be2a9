// A small data set made from a seed, so that a benchmark needs no download and can be repeated anywhere.
#pragma once

#include <cstdint>
#include <filesystem>

namespace stoker {

struct SyntheticOptions {
  int pictures = 600;
  int classes = 10;
  uint64_t seed = 1;
  bool odd_files = true;  // a few CMYK and progressive JPEGs, PNGs, one WebP and one broken file among them
};

// Writes `folder`/class-00/00000-444.jpg and so on; a file's name gives its kind. Sizes and qualities are spread as in
// sets of photographs: 500 x 375 in the middle, some small, a few of megapixels, about 100 kB a file. The same options
// give the same bytes on every machine with the same codec libraries.
// Works in "`folder`.partial" and renames it at the end, so `folder` is complete or not there. Throws
// std::filesystem::filesystem_error if `folder` exists and has anything in it, or if it cannot be written.
void WriteSyntheticSet(const std::filesystem::path& folder, const SyntheticOptions& options);

// Whether `folder` is a complete set of just these options.
bool SyntheticSetExists(const std::filesystem::path& folder, const SyntheticOptions& options);

}  // namespace stoker
