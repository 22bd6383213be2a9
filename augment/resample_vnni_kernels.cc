#include "augment/resample_vnni_kernels.h"

#define HWY_WANT_AVX3_DL
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "augment/resample_vnni_kernels.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

// Highway only chooses. What it compiles for AVX3_DL may use AVX-VNNI, which not every such CPU has, and not
// AVX512-VNNI, which every one has.
HWY_BEFORE_NAMESPACE();
namespace stoker::HWY_NAMESPACE {

bool TargetHasVnni() { return HWY_TARGET <= HWY_AVX3_DL; }

}  // namespace stoker::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace stoker {

HWY_EXPORT(TargetHasVnni);

bool HasVnni() { return HWY_DYNAMIC_DISPATCH(TargetHasVnni)(); }

}  // namespace stoker

#endif  // HWY_ONCE
