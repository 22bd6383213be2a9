// Which set of samples something was learned of.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "loader/source.h"

namespace stoker {

using Fingerprint = std::array<uint64_t, 2>;

// A hash of all samples' names and sizes in their order, the names without the folders that they all lie in: the same
// for a copy of a data set elsewhere, and whether it was given as a folder or as a list of its files.
// Modification times are not in it: they do not survive copying a data set, nor do all file systems keep them; and a
// file that was replaced by another of the same size is found out when it is decoded, by the checksum of its bytes.
// Reads no file; takes names twice, by several threads: about a second for a million of them on two CPUs. Throws
// std::bad_alloc.
Fingerprint FingerprintOf(const Source& source);

// As 32 hexadecimal digits.
std::string Hex(const Fingerprint& fingerprint);

}  // namespace stoker
