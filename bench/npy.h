// Writes one array as NumPy's .npy (format version 1.0, numpy.lib.format).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace stoker {

// `descr` is NumPy's, such as "|u1", "<f4", "<i8". Throws std::system_error naming the file.
void WriteNpy(const std::string& file, const std::string& descr, std::span<const int64_t> shape,
              std::span<const std::byte> data);

}  // namespace stoker
