// The finishing kernel of CPUs for which Highway has no vectors. For the use of finish_kernels.cc alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace stoker {

// As SplitRow: with the SSE2 of every x86-64, elsewhere the scalar twin.
void SplitRowBaseline(const uint8_t* row, size_t width, bool reverse, const std::array<uint8_t*, 3>& planes);

}  // namespace stoker
