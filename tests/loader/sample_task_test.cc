#include "loader/sample_task.h"

#include <gtest/gtest.h>

#include <optional>

#include "tests/loader/picture_folder.h"
#include "tests/loader/table_source.h"
#include "transfer/clock.h"

namespace stoker {
namespace {

TEST(SampleTask, AJobWhoseFileLeftThePageCacheGoesBackWithoutABuffer) {
  // Jobs on their way back are behind one that waits for a buffer: where they held all of them, nothing would move.
  LoaderOptions options;
  options.recipe = TrainRecipe(16, ElementType::kUint8);
  const CompiledRecipe recipe(options.recipe);
  const TempFolder folder;
  TableSource source;
  ReadBuffers buffers(1, 4096, 0, SteadyNow, [] {});
  StallLog log(1, 1);
  BadSamples bad;
  std::optional<SampleJob> back;
  SampleTask task({options,
                   recipe,
                   recipe.spec(),
                   false,
                   source,
                   buffers,
                   log,
                   bad,
                   SteadyNow,
                   ThreadCpuNow,
                   1,
                   {},
                   nullptr,
                   [&](SampleJob job) { back = std::move(job); }});
  SampleJob job;
  const uint32_t gone = source.Add((folder.path() / "gone.jpg").string());
  job.extents.Add({gone, 0, 100, true});
  job.from_cache = true;
  task.Run(0, std::move(job));
  ASSERT_TRUE(back.has_value());
  EXPECT_TRUE(back->evicted);
  EXPECT_FALSE(back->encoded);
  EXPECT_EQ(buffers.leased(), 0u);
}

}  // namespace
}  // namespace stoker
