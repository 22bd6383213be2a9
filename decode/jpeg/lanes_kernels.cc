#include "decode/jpeg/lanes_kernels.h"

#include "decode/cpu_path.h"
#include "decode/jpeg/lanes_body_kernels.h"

namespace stoker {
namespace {

LaneEnd OneBaseline(Lane& lane) noexcept { return lanes::DecodeOne<false, false>(lane); }
LaneOfTwo TwoBaseline(Lane& first, Lane& second) noexcept { return lanes::DecodeTwo<false, false>(first, second); }
LaneEnd OneWithTrailBaseline(Lane& lane) noexcept { return lanes::DecodeOne<false, true>(lane); }
LaneOfTwo TwoWithTrailBaseline(Lane& first, Lane& second) noexcept {
  return lanes::DecodeTwo<false, true>(first, second);
}
void PrepareBaseline(const McuPattern& pattern, size_t mcus, HalfBlock* half) noexcept {
  lanes::Prepare(pattern, mcus, half);
}
size_t CountBaseline(const HalfBlock* half, size_t blocks) noexcept { return lanes::CountValues(half, blocks); }
void SkipBaseline(const McuPattern& pattern, size_t mcus, const HalfBlock*& half, const int16_t*& values,
                  DcValues& dc) noexcept {
  lanes::PassBlocks<false>(pattern, mcus, half, values, dc, nullptr);
}
void CollectBaseline(const McuPattern& pattern, size_t mcus, const HalfBlock*& half, const int16_t*& values,
                     DcValues& dc, BlockRows& to) noexcept {
  lanes::PassBlocks<true>(pattern, mcus, half, values, dc, &to);
}
constexpr LaneKernels kBaseline = {OneBaseline,     TwoBaseline,   OneWithTrailBaseline, TwoWithTrailBaseline,
                                   PrepareBaseline, CountBaseline, SkipBaseline,         CollectBaseline};

#ifdef __x86_64__
#define STOKER_BMI2 __attribute__((target("bmi,bmi2,lzcnt,popcnt,avx2")))

STOKER_BMI2 LaneEnd OneBmi2(Lane& lane) noexcept { return lanes::DecodeOne<true, false>(lane); }
STOKER_BMI2 LaneOfTwo TwoBmi2(Lane& first, Lane& second) noexcept {
  return lanes::DecodeTwo<true, false>(first, second);
}
STOKER_BMI2 LaneEnd OneWithTrailBmi2(Lane& lane) noexcept { return lanes::DecodeOne<true, true>(lane); }
STOKER_BMI2 LaneOfTwo TwoWithTrailBmi2(Lane& first, Lane& second) noexcept {
  return lanes::DecodeTwo<true, true>(first, second);
}
STOKER_BMI2 void PrepareBmi2(const McuPattern& pattern, size_t mcus, HalfBlock* half) noexcept {
  lanes::Prepare(pattern, mcus, half);
}
STOKER_BMI2 size_t CountBmi2(const HalfBlock* half, size_t blocks) noexcept { return lanes::CountValues(half, blocks); }
STOKER_BMI2 void SkipBmi2(const McuPattern& pattern, size_t mcus, const HalfBlock*& half, const int16_t*& values,
                          DcValues& dc) noexcept {
  lanes::PassBlocks<false>(pattern, mcus, half, values, dc, nullptr);
}
STOKER_BMI2 void CollectBmi2(const McuPattern& pattern, size_t mcus, const HalfBlock*& half, const int16_t*& values,
                             DcValues& dc, BlockRows& to) noexcept {
  lanes::PassBlocks<true>(pattern, mcus, half, values, dc, &to);
}
constexpr LaneKernels kBmi2 = {OneBmi2,     TwoBmi2,   OneWithTrailBmi2, TwoWithTrailBmi2,
                               PrepareBmi2, CountBmi2, SkipBmi2,         CollectBmi2};
#endif

}  // namespace

void Lane::Begin(const uint8_t* bytes, uint64_t bit, HalfBlock* first, int16_t* to) noexcept {
  next = bytes + bit / 8;
  window = lanes::LoadBigEndian(next) << bit % 8;
  bits = 56 - bit % 8;
  next += 7;
  window &= ~uint64_t{0} << (64 - bits);
  place = 1;
  values = to;
  half = first;
  table = first->table;
  lanes::Refill(*this);
}

const LaneKernels& ChosenLaneKernels() noexcept {
#ifdef __x86_64__
  if (ChosenCpuPath() != CpuPath::kBaseline) return kBmi2;
#endif
  return kBaseline;
}

}  // namespace stoker
