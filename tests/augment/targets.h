// Runs a check once for every instruction set that the kernels were compiled for and this CPU has.
#pragma once

#define HWY_WANT_AVX3_DL  // some kernels have a body for it

#include <gtest/gtest.h>
#include <hwy/highway.h>

namespace stoker {

template <class Check>
void ForEachTarget(Check&& check) {
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::GetChosenTarget().Update(target);
    check();
  }
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace stoker
