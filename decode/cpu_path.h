// Which instructions the kernels use.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace stoker {

// Each does what the ones before it do, faster; all give the same bytes.
enum class CpuPath : uint8_t {
  kBaseline,  // what every CPU of this architecture has: SSE2 on x86-64
  kAvx2,      // AVX2 and BMI2: since 2013, Zen 1
  kAvx512,    // with VBMI2 and VNNI: Ice Lake, Zen 4 and later
};

// The machine's best, or STOKER_CPU ("sse2", "avx2", "avx512") where it names less. Looks once; later calls give the
// same. Also keeps Highway to it, so the first call comes before any kernel runs. Safe from any thread.
CpuPath ChosenCpuPath() noexcept;
// What STOKER_CPU should not say: the value, where it is none of the three words or more than the machine has.
std::optional<std::string_view> RefusedCpuPath() noexcept;
// "sse2" ("baseline" on other machines), "avx2", "avx512".
std::string_view CpuPathName(CpuPath path) noexcept;
// From here on as if STOKER_CPU named it. For tests and benchmarks, while nothing decodes.
// Requires: the machine has it.
void ForceCpuPath(CpuPath path) noexcept;
// The best of this machine, whatever STOKER_CPU says.
CpuPath BestCpuPath() noexcept;

}  // namespace stoker
