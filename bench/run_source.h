// The data that the command line of `stoker run` names.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bench/run_options.h"
#include "loader/file_source.h"

namespace stoker {

// The folder or the list. Throws std::system_error naming the path, Error naming what is wrong in it.
std::unique_ptr<FileSource> OpenSource(const RunOptions& options, ScanSummary* summary = nullptr);

// The bytes of a sample in one file; empty where they cannot be read.
std::vector<uint8_t> ReadSample(const Source& source, uint64_t id);

// Under `--transform none` the batch's size is that of the first picture. Throws Error naming it where it is bad.
ImageSize FirstPictureSize(const FileSource& source, const LoaderOptions& options);

}  // namespace stoker
