#include "loader/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

#include "loader/file_source.h"
#include "loader/loader.h"
#include "tests/loader/picture_folder.h"
#include "tests/loader/pipeline_model.h"
#include "tests/loader/table_source.h"
#include "tests/loader/trace_reading.h"

namespace stoker {
namespace {

using testing::ElementsAre;
using testing::SizeIs;
using testing::StartsWith;

std::vector<std::string> NamesOf(const std::vector<ReadSlice>& slices) {
  std::vector<std::string> names;
  for (const ReadSlice& slice : slices) names.push_back(slice.name);
  return names;
}

class TraceTest : public testing::Test {
 protected:
  ReadTrace Write(const StallLog& log, uint32_t workers, int64_t now_ns) const {
    WriteTrace(log, source_, workers, now_ns, file_);
    return ReadTraceFile(file_);
  }
  ReadTrace Run(const ModelConfig& config, StallLog& log, int64_t& end_ns) {
    for (int64_t i = 0; i < config.batches * config.batch_size; ++i) source_.Add("picture " + std::to_string(i));
    end_ns = PipelineModel(config).Run(log);
    return Write(log, config.workers, end_ns);
  }

  TempFolder folder_;
  const std::string file_ = (folder_.path() / "trace.json").string();
  TableSource source_;
};

TEST_F(TraceTest, HasOneThingAtATimeInEachRow) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    const ModelConfig config = RandomConfig(seed, seed % 10 == 0 ? 700 : 60);
    StallLog log(config.batch_size, config.slots + config.device_slots + 1);
    int64_t end = 0;
    const ReadTrace trace = Run(config, log, end);
    for (const std::string& row : trace.rows) {
      int64_t at = 0;
      for (const ReadSlice& slice : trace.slices.at(row)) {
        ASSERT_GE(slice.from_ns, at) << row;
        ASSERT_GT(slice.to_ns, slice.from_ns) << row;
        at = slice.to_ns;
      }
      EXPECT_LE(at, end - trace.begin_ns) << row;
    }
  }
}

TEST_F(TraceTest, TilesItsTimeWithTheCriticalPath) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    const bool longer_than_the_log = seed % 10 == 0;
    const ModelConfig config = RandomConfig(seed, longer_than_the_log ? 700 : 60);
    StallLog log(config.batch_size, config.slots + config.device_slots + 1);
    int64_t end = 0;
    const ReadTrace trace = Run(config, log, end);
    StageTimes times = {};
    int64_t at = 0;
    for (const ReadSlice& slice : trace.slices.at("critical path")) {
      ASSERT_EQ(slice.from_ns, at);
      at = slice.to_ns;
      const auto stage = std::ranges::find_if(
          kStageNames, [&](const char* name) { return (slice.name + ":").starts_with(std::string(name) + ":"); });
      ASSERT_NE(stage, kStageNames.end()) << slice.name;
      times[static_cast<size_t>(stage - kStageNames.begin())] += slice.to_ns - slice.from_ns;
    }
    EXPECT_EQ(at, end - trace.begin_ns);
    if (longer_than_the_log) {
      EXPECT_EQ(std::ranges::count(trace.slices.at("consumer"), "step", &ReadSlice::name), 256);
    } else {
      PipelineModel exact(config);
      StallLog again(config.batch_size, config.slots + config.device_slots + 1);
      exact.Run(again);
      EXPECT_EQ(trace.begin_ns, exact.begin_ns());
      EXPECT_EQ(times, exact.ExactBlame());
    }
  }
}

TEST_F(TraceTest, LeadsArrowsFromTheEndOfEachStepToTheBeginningOfTheNext) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    const ModelConfig config = RandomConfig(seed, seed % 10 == 0 ? 700 : 60);
    StallLog log(config.batch_size, config.slots + config.device_slots + 1);
    int64_t end = 0;
    const ReadTrace trace = Run(config, log, end);
    std::vector<nlohmann::json> steps;  // on the path, the latest first
    for (const ReadSlice& slice : trace.slices.at("critical path")) {
      nlohmann::json step = {slice.name.substr(0, slice.name.find(':')), slice.args};
      if (!slice.args.empty() && (steps.empty() || steps.back() != step)) steps.push_back(std::move(step));
    }
    std::ranges::reverse(steps);
    ASSERT_THAT(trace.arrows, SizeIs(steps.size() - 1));
    size_t number = 0;
    for (const auto& [id, arrow] : trace.arrows) {
      ASSERT_NE(arrow.from_row, "");
      ASSERT_NE(arrow.to_row, "");
      ASSERT_LE(arrow.leaves_ns, arrow.arrives_ns);
      const ReadSlice* const from = trace.At(arrow.from_row, arrow.leaves_ns);
      const ReadSlice* const to = trace.At(arrow.to_row, arrow.arrives_ns);
      ASSERT_NE(from, nullptr);
      ASSERT_NE(to, nullptr);
      EXPECT_EQ(from->to_ns, arrow.leaves_ns + 1);
      EXPECT_EQ(to->from_ns, arrow.arrives_ns);
      EXPECT_EQ(to->args, steps[number++][1]);
      EXPECT_EQ(from->args, steps[number][1]);
    }
  }
}

TEST_F(TraceTest, ShowsEveryPartOfASampleAndItsBatch) {
  source_.Add("a \"quoted\\name\"\n\x01 and \xff, caf\xc3\xa9");
  StallLog log(1, 2);
  log.Request(100);
  log.sample(0) = {.sequence = 0,
                   .submit_ns = 100,
                   .opened_ns = 130,
                   .arrive_ns = 200,
                   .start_ns = 210,
                   .decoded_ns = 260,
                   .end_ns = 300,
                   .late_ns = 25,
                   .before_read = {},
                   .before_decode = {200, 0, Cause::kRead},
                   .bytes = 1234,
                   .worker = 1,
                   .id = 0};
  BatchRecord batch;
  batch.batch = 0;
  batch.count = 1;
  batch.stamps = {.full_ns = 300, .copy_start_ns = 300, .copy_end_ns = 340};
  batch.returned_ns = 330;
  batch.to_stream = true;
  log.HandOver(batch);
  log.Request(420);
  log.DeviceDone(0, 400);
  const ReadTrace trace = Write(log, 2, 450);
  EXPECT_EQ(trace.begin_ns, 100);
  EXPECT_THAT(trace.rows,
              ElementsAre("critical path", "consumer, on the device", "consumer", "copy engine", "worker 1", "read 0"));
  EXPECT_THAT(NamesOf(trace.slices.at("critical path")),
              ElementsAre("io: open", "io: storage", "io: reaped late", "runtime", "decode: decode", "decode: augment",
                          "copy: transfer", "consumer: step", "consumer: host gap", "other"));
  EXPECT_THAT(NamesOf(trace.slices.at("read 0")), ElementsAre("open", "storage", "reaped late"));
  EXPECT_THAT(NamesOf(trace.slices.at("worker 1")), ElementsAre("decode", "augment"));
  EXPECT_THAT(NamesOf(trace.slices.at("copy engine")), ElementsAre("transfer"));
  EXPECT_THAT(NamesOf(trace.slices.at("consumer")), ElementsAre("next()", "step"));
  const std::vector<ReadSlice>& device = trace.slices.at("consumer, on the device");
  ASSERT_THAT(NamesOf(device), ElementsAre("step"));
  EXPECT_EQ(device[0].from_ns, 240);
  EXPECT_EQ(device[0].to_ns, 300);
  const nlohmann::json sample = {{"batch", 0},
                                 {"index", 0},
                                 {"id", 0},
                                 {"sample", "a \"quoted\\name\"\n\x01 and \\xff, caf\xc3\xa9"},
                                 {"bytes", 1234}};
  EXPECT_EQ(trace.slices.at("read 0")[1].args, sample);
  EXPECT_EQ(trace.slices.at("worker 1")[0].args, sample);
  ASSERT_THAT(trace.arrows, SizeIs(3));
  EXPECT_EQ(trace.arrows.at(1).to_row, "consumer, on the device");
}

TEST_F(TraceTest, CutsWhatGoesOnBesideTheNextSliceOfItsRow) {
  source_.Add("good");
  StallLog log(3, 2);
  log.Request(100);
  const auto put = [&log](int64_t number, int64_t start_ns, int64_t decoded_ns, int64_t end_ns) {
    log.sample(number) = {.sequence = number,
                          .submit_ns = 100 + number,
                          .arrive_ns = 110,
                          .start_ns = start_ns,
                          .decoded_ns = decoded_ns,
                          .end_ns = end_ns,
                          .before_read = {},
                          .before_decode = {},
                          .id = 0};
  };
  put(0, 110, 400, 500);  // bad at first, and tried again by the worker of the others
  put(1, 150, 200, 300);
  put(2, 150, 150, 160);
  BatchRecord batch;
  batch.batch = 0;
  batch.count = 3;
  batch.stamps.full_ns = 500;
  batch.returned_ns = 500;
  log.HandOver(batch);
  const ReadTrace trace = Write(log, 1, 600);
  std::vector<int64_t> times;
  for (const ReadSlice& slice : trace.slices.at("worker 0")) times.insert(times.end(), {slice.from_ns, slice.to_ns});
  EXPECT_THAT(times, ElementsAre(10, 50, 50, 60, 100, 200, 300, 400));
  EXPECT_THAT(trace.slices.at("read 2"), SizeIs(1));  // beside the others
}

TEST_F(TraceTest, HasTheConsumersTimeAloneBeforeTheFirstBatch) {
  StallLog log(4, 2);
  EXPECT_THAT(Write(log, 2, 1000).slices.at("critical path"), SizeIs(0));
  log.Request(2000);
  const ReadTrace trace = Write(log, 2, 2500);
  EXPECT_THAT(NamesOf(trace.slices.at("critical path")), ElementsAre("other"));
}

TEST_F(TraceTest, TellsOfEverySampleThatALoaderGave) {
  TempFolder pictures;
  WritePictures(pictures, 40);
  Loader loader({.batch_size = 4,
                 .recipe = TrainRecipe(16, ElementType::kUint8),
                 .num_workers = 2,
                 .reader = ReaderKind::kPread,
                 .device = "sim"},
                OpenFolder(pictures.string()));
  std::multiset<int64_t> given;
  while (const std::optional<Batch> batch = loader.Next()) {
    given.insert(batch->ids().begin(), batch->ids().end());
    loader.WriteTrace(file_);  // beside the threads that are at work
    EXPECT_FALSE(ReadTraceFile(file_).slices.at("critical path").empty());
  }
  loader.WriteTrace(file_);
  const ReadTrace trace = ReadTraceFile(file_);
  std::multiset<int64_t> decoded, read;
  for (const auto& [row, slices] : trace.slices) {
    for (const ReadSlice& slice : slices) {
      if (slice.name == "decode") decoded.insert(slice.args["id"].get<int64_t>());
      if (slice.name != "storage") continue;
      EXPECT_THAT(row, StartsWith("read "));
      read.insert(slice.args["id"].get<int64_t>());
      EXPECT_THAT(slice.args["sample"].get<std::string>(), StartsWith("class"));
      EXPECT_GT(slice.args["bytes"], 0);
    }
  }
  EXPECT_EQ(decoded, given);
  EXPECT_EQ(read, given);
  EXPECT_THAT(trace.slices.at("copy engine"), SizeIs(testing::Ge(10u)));
  EXPECT_FALSE(trace.arrows.empty());
}

}  // namespace
}  // namespace stoker
