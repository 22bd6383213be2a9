// The page cache between runs: cold runs find none of their files in it, warm ones all.
#pragma once

#include <cstdint>
#include <memory>

#include "loader/file_source.h"

namespace stoker {

// Asks the kernel to forget the files; needs no rights. Directories and what others have mapped stay. Blocks until the
// files' own changes are on the disk. A file that is not there is left to the run.
void ThrowOut(const FileSource& source);

// Reads all files once.
void ReadIn(const FileSource& source);

// `most` files, evenly over all of `source`, in its order and with its labels; all of it where it has no more. So that
// what a warm run reads fits into the page cache, and each run reads the same.
std::shared_ptr<const FileSource> SampleOf(std::unique_ptr<FileSource> source, uint64_t most);

}  // namespace stoker
