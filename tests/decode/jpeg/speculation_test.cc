#include "decode/jpeg/speculation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <span>
#include <vector>

#include "tests/decode/encode.h"
#include "tests/decode/jpeg/library_coefficients.h"

namespace stoker {
namespace {

// A picture's scan, and its MCUs as one lane decodes them from the front.
class SpeculationOnPicture : public testing::Test {
 protected:
  void Open(const JpegOptions& options) {
    file_ = EncodeJpeg(MakePicture({300, 260}, 3, 4), options);
    frame_ = ScanByTheLibrary(file_).frame;
    shape_.across = frame_.mcus_across;
    shape_.down = frame_.mcus_down;
    for (const JpegComponent& component : std::span(frame_.component)) {
      for (int i = 0; i < component.h * component.v; ++i, ++shape_.pattern.count) {
        shape_.pattern.halves[2 * shape_.pattern.count] = {tables_.Dc(component.dc)->word(), 0};
        shape_.pattern.halves[2 * shape_.pattern.count + 1] = {tables_.Ac(component.ac)->word(), 0};
      }
    }
    const auto mcus = static_cast<size_t>(shape_.across) * static_cast<size_t>(shape_.down);
    scan_.Open(file_, frame_.scan_offset, file_.size(), MaxLaneBytes(shape_.blocks(mcus)));
    strip_.Reserve(shape_.pattern, mcus);
    strip_.Prepare(shape_.pattern, 0, mcus);
    Lane lane;
    lane.Begin(scan_.bytes(), 0, strip_.halves.data(), strip_.values.data());
    ASSERT_EQ(ChosenLaneKernels().one_with_trail(lane), LaneEnd::kDone);
    for (size_t mcu = 1; mcu <= mcus; ++mcu) {
      ends_.push_back(TrailPosition(strip_.halves[2 * shape_.blocks(mcu) - 1].table, scan_.bytes()));
    }
  }

  void RunAlone() {
    while (speculation_.is_running()) speculation_.EndStretch(ChosenLaneKernels().one_with_trail(speculation_.lane()));
  }

  // The first MCU from the front that the speculation meets, or how many there are.
  size_t Meeting() {
    for (size_t mcu = 0; mcu < ends_.size(); ++mcu) {
      if (speculation_.Meets(mcu == 0 ? 0 : ends_[mcu - 1])) return mcu;
    }
    return ends_.size();
  }

  Bytes file_;
  JpegFrame frame_;
  HuffmanTables tables_;
  ScanShape shape_;
  ScanBytes scan_;
  McuStrip strip_;
  std::vector<uint64_t> ends_;  // of the MCUs
  Speculation speculation_;
};

TEST_F(SpeculationOnPicture, FallsIntoStepWhereverItBegins) {
  Open({.quality = 85, .luma_h = 2, .luma_v = 2});
  for (const uint64_t guess : {ends_[20] + 1, scan_.bits() / 3, scan_.bits() / 2, scan_.bits() / 2 + 3}) {
    speculation_.Begin(shape_, scan_, guess, scan_.bits(), ends_.size());
    RunAlone();
    const size_t meeting = Meeting();
    ASSERT_LT(meeting, ends_.size());
    ASSERT_TRUE(speculation_.is_right());
    // Up to the end it is what the lane from the front gives.
    size_t mcu = meeting;
    uint64_t position = ends_[mcu - 1];
    while (mcu < ends_.size()) {
      const McuRun run = speculation_.Take(static_cast<int32_t>(std::min<size_t>(7, ends_.size() - mcu)), position);
      ASSERT_GT(run.mcus, 0);
      const size_t blocks = shape_.blocks(static_cast<size_t>(run.mcus));
      const HalfBlock* const expected = &strip_.halves[2 * shape_.blocks(mcu)];
      for (size_t block = 0; block < blocks; ++block) {
        ASSERT_EQ(run.halves[2 * block + 1].mask, expected[2 * block + 1].mask);
      }
      const size_t before = ChosenLaneKernels().count(strip_.halves.data(), shape_.blocks(mcu));
      const size_t count = ChosenLaneKernels().count(run.halves, blocks);
      ASSERT_TRUE(std::equal(run.values, run.values + count, &strip_.values[before]));
      mcu += static_cast<size_t>(run.mcus);
      ASSERT_EQ(position, ends_[mcu - 1]);
    }
  }
}

TEST_F(SpeculationOnPicture, StopsBehindItsEndAndAfterSoManyMcus) {
  Open({.quality = 85});
  const uint64_t guess = ends_[300];
  speculation_.Begin(shape_, scan_, guess, ends_[500], ends_.size());
  RunAlone();
  EXPECT_TRUE(speculation_.IsBefore(ends_[500 + static_cast<size_t>(shape_.across)] + 1));
  EXPECT_FALSE(speculation_.IsBefore(ends_[500]));
  speculation_.Begin(shape_, scan_, guess, scan_.bits(), 100);
  RunAlone();
  EXPECT_EQ(Meeting(), 301u);
  uint64_t position = 0;
  EXPECT_EQ(speculation_.Take(1000, position).mcus, 100);
  EXPECT_EQ(position, ends_[400]);
  EXPECT_EQ(speculation_.Take(1000, position).mcus, 0);
  EXPECT_FALSE(speculation_.exists());
}

TEST_F(SpeculationOnPicture, EndsWhereTheDataDo) {
  Open({.quality = 30});
  speculation_.Begin(shape_, scan_, ends_[ends_.size() - 3], scan_.bits(), 1000);
  RunAlone();
  EXPECT_TRUE(speculation_.exists());
  EXPECT_EQ(Meeting(), ends_.size() - 2);
}

}  // namespace
}  // namespace stoker
