#include <hwy/highway.h>

#include <array>
#include <atomic>
#include <cstdlib>

#include "decode/cpu_path.h"

namespace stoker {
namespace {

#ifdef __x86_64__
constexpr std::array<std::string_view, 3> kNames = {"sse2", "avx2", "avx512"};
// Highway numbers better targets lower: the ones that each path leaves out.
constexpr int64_t kAboveBaseline = HWY_SSSE3 | (HWY_SSSE3 - 1);
constexpr int64_t kAboveAvx2 = HWY_AVX2 - 1;
#else
constexpr std::array<std::string_view, 3> kNames = {"baseline", "avx2", "avx512"};
constexpr int64_t kAboveBaseline = 0;
constexpr int64_t kAboveAvx2 = 0;
#endif

// -1 until chosen.
std::atomic<int> chosen = -1;

const char* Wanted() noexcept {
  const char* const value = std::getenv("STOKER_CPU");
  return value != nullptr && *value != '\0' ? value : nullptr;
}

std::optional<CpuPath> Parsed(std::string_view name) noexcept {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (name == kNames[i] && static_cast<CpuPath>(i) <= BestCpuPath()) return static_cast<CpuPath>(i);
  }
  return {};
}

void KeepHighwayTo(CpuPath path) noexcept {
  const bool best = path == CpuPath::kAvx512;
  hwy::DisableTargets(best ? 0 : path == CpuPath::kAvx2 ? kAboveAvx2 : kAboveBaseline);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace

CpuPath BestCpuPath() noexcept {
#ifdef __x86_64__
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi2")) return CpuPath::kBaseline;
  const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2") &&
                    __builtin_cpu_supports("avx512vnni");
  return wide ? CpuPath::kAvx512 : CpuPath::kAvx2;
#else
  return CpuPath::kBaseline;
#endif
}

CpuPath ChosenCpuPath() noexcept {
  int path = chosen.load(std::memory_order_acquire);
  if (path >= 0) return static_cast<CpuPath>(path);
  const char* const wanted = Wanted();
  const CpuPath found = (wanted != nullptr ? Parsed(wanted) : std::nullopt).value_or(BestCpuPath());
  if (found != BestCpuPath()) KeepHighwayTo(found);
  chosen.store(static_cast<int>(found), std::memory_order_release);
  return found;
}

std::optional<std::string_view> RefusedCpuPath() noexcept {
  const char* const wanted = Wanted();
  if (wanted == nullptr || Parsed(wanted)) return {};
  return wanted;
}

std::string_view CpuPathName(CpuPath path) noexcept { return kNames[static_cast<size_t>(path)]; }

void ForceCpuPath(CpuPath path) noexcept {
  KeepHighwayTo(path);
  chosen.store(static_cast<int>(path), std::memory_order_release);
}

}  // namespace stoker
