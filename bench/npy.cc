#include "bench/npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <fstream>
#include <system_error>

namespace stoker {

void WriteNpy(const std::string& file, const std::string& descr, std::span<const int64_t> shape,
              std::span<const std::byte> data) {
  constexpr size_t kPrefixBytes = 10;  // magic, version and the header's length
  constexpr size_t kAlignment = 64;
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({},), }}", descr, fmt::join(shape, ", "));
  header.resize((kPrefixBytes + header.size() + 1 + kAlignment - 1) / kAlignment * kAlignment - kPrefixBytes - 1, ' ');
  header += '\n';
  std::string prefix("\x93NUMPY\x01\x00", 8);
  prefix += static_cast<char>(header.size() & 0xFF);
  prefix += static_cast<char>(header.size() >> 8);
  std::ofstream out(file, std::ios::binary);
  out << prefix << header;
  out.write(reinterpret_cast<const char*>(data.data()), static_cast<std::streamsize>(data.size()));
  out.flush();
  if (!out) throw std::system_error(errno, std::generic_category(), "cannot write " + file);
}

}  // namespace stoker
