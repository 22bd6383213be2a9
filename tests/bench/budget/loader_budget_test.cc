#include "bench/budget/loader_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "bench/budget/picture_sizes.h"
#include "bench/synthetic_set.h"
#include "loader/file_source.h"
#include "loader/loader.h"
#include "tests/loader/picture_folder.h"
#include "transfer/sim_device.h"

namespace stoker {

// The tests' names.
void PrintTo(const LoaderOptions& options, std::ostream* out) {
  *out << "batches of " << options.batch_size << " on " << options.device << (options.grow_slots ? ", growing" : "");
}

namespace {

using testing::HasSubstr;

// Photograph-like pictures, one set for all tests of this file.
const std::string& Photos() {
  static const TempFolder folder;
  static const std::string photos = [] {
    const std::filesystem::path set = folder.path() / "photos";
    WriteSyntheticSet(set, {.pictures = 24, .classes = 2, .seed = 3, .odd_files = false});
    return set.string();
  }();
  return photos;
}

LoaderOptions Options(int32_t batch_size, ElementType element, const char* device) {
  LoaderOptions options;
  options.batch_size = batch_size;
  options.recipe = TrainRecipe(224, ElementType::kUint8);
  options.recipe.element = element;
  if (element != ElementType::kUint8)
    options.recipe.ops.emplace_back(Normalize{{0.5F, 0.5F, 0.5F}, {0.2F, 0.2F, 0.2F}});
  options.device = device;
  options.num_workers = 1;
  options.report_every = 0;
  options.live_feed = false;
  return options;
}

LoaderBudget Plan(const LoaderOptions& options, const Room& room = {}, std::unique_ptr<Device> device = nullptr) {
  const std::unique_ptr<FileSource> source = OpenFolder(Photos());
  return PlanLoader(options, *source, LookAtPictures(*source, options), room, std::move(device));
}

const Limit* Find(const LoaderBudget& budget, const std::string& name) {
  for (const Limit& limit : budget.limits) {
    if (limit.name.find(name) != std::string::npos) return &limit;
  }
  return nullptr;
}

double BytesOf(const LoaderBudget& budget, const std::string& name) {
  for (const Term& term : budget.terms) {
    if (term.name == name) return term.bytes;
  }
  return -1;
}

class LoaderBudgetOf : public testing::TestWithParam<LoaderOptions> {};

TEST_P(LoaderBudgetOf, IsWhatTheLoaderReports) {
  const LoaderOptions options = GetParam();
  const LoaderBudget budget = Plan(options);
  Loader loader(options, OpenFolder(Photos()));
  for (int epoch = 0; epoch < 3; ++epoch) {
    while (loader.Next()) {
    }
  }
  const StallReport report = loader.Report();
  EXPECT_EQ(budget.plan.slots, report.buffers.slots);
  EXPECT_EQ(budget.plan.slot_bytes, report.buffers.slot_bytes);
  EXPECT_EQ(budget.plan.device_slots, report.buffers.device_slots);
  EXPECT_EQ(budget.plan.device_slot_bytes, report.buffers.device_slot_bytes);
  EXPECT_EQ(budget.plan.read_buffers, report.buffers.read_buffers);
  EXPECT_EQ(budget.plan.read_buffer_bytes, report.buffers.read_buffer_bytes);
  EXPECT_EQ(budget.plan.stall_log_bytes, report.buffers.stall_log_bytes);
  EXPECT_EQ(budget.plan.source_bytes, report.buffers.source_bytes);
  EXPECT_EQ(budget.plan.index_bytes, report.buffers.index_bytes);
  EXPECT_GT(budget.plan.index_bytes, 0u);
  EXPECT_EQ(budget.plan.host_bytes(), report.buffers.host_bytes());
  EXPECT_NEAR(budget.budget_bytes(), static_cast<double>(report.budget_bytes),
              0.05 * static_cast<double>(report.budget_bytes));
  // Decoders grow in steps, which depend on the order of the pictures.
  EXPECT_NEAR(budget.scratch_bytes, static_cast<double>(report.scratch_bytes),
              0.1 * static_cast<double>(report.scratch_bytes));
  EXPECT_DOUBLE_EQ(budget.host_bytes(), budget.budget_bytes()) << "the terms are the sum, where there is no live feed";
}

LoaderOptions With(LoaderOptions options, int32_t prefetch_factor, int32_t queue_depth, int32_t num_workers) {
  options.prefetch_factor = prefetch_factor;
  options.queue_depth = queue_depth;
  options.num_workers = num_workers;
  return options;
}

LoaderOptions Growing(LoaderOptions options) {
  options.grow_slots = true;
  return options;
}

INSTANTIATE_TEST_SUITE_P(Settings, LoaderBudgetOf,
                         testing::Values(Options(8, ElementType::kUint8, "cpu"),
                                         Options(4, ElementType::kFloat32, "cpu"),
                                         Options(4, ElementType::kFloat16, "sim"),
                                         Growing(Options(2, ElementType::kUint8, "cpu")),
                                         With(Options(3, ElementType::kBfloat16, "sim"), 5, 4, 0),
                                         With(Options(16, ElementType::kUint8, "sim"), 1, 64, 1)));

TEST(LoaderBudget, CountsEachWorkersScratchAndBuffers) {
  const LoaderBudget one = Plan(With(Options(8, ElementType::kUint8, "cpu"), 2, 32, 1));
  const LoaderBudget four = Plan(With(Options(8, ElementType::kUint8, "cpu"), 2, 32, 4));
  EXPECT_DOUBLE_EQ(four.scratch_bytes, 4 * one.scratch_bytes);
  EXPECT_EQ(four.plan.read_buffers, one.plan.read_buffers + 6);
}

TEST(LoaderBudget, SaysWhereEachTermLies) {
  const LoaderBudget host = Plan(Options(8, ElementType::kUint8, "cpu"));
  EXPECT_EQ(host.SumAt(Place::kLocked), 0);
  EXPECT_EQ(BytesOf(host, "device slots"), -1);
  LoaderOptions options = Options(8, ElementType::kUint8, "sim");
  const LoaderBudget sim = Plan(options);
  EXPECT_DOUBLE_EQ(sim.SumAt(Place::kLocked), BytesOf(sim, "host slots") + BytesOf(sim, "read buffers"));
  EXPECT_EQ(sim.SumAt(Place::kVram), 0) << "the simulated device's memory is the host's";
  options.reader = ReaderKind::kPread;
  const LoaderBudget pread = Plan(options);
  EXPECT_DOUBLE_EQ(pread.SumAt(Place::kLocked), BytesOf(pread, "host slots"));
  EXPECT_EQ(Find(pread, "memlock"), nullptr) << "pread locks nothing";
  EXPECT_EQ(BytesOf(host, "live feed"), -1);
  options.live_feed = true;
  EXPECT_EQ(BytesOf(Plan(options), "live feed"), 36'864);
}

TEST(LoaderBudget, FitsWhereNothingIsKnownOfTheMachine) {
  const LoaderBudget budget = Plan(Options(8, ElementType::kUint8, "cpu"));
  EXPECT_TRUE(budget.fits());
  EXPECT_FALSE(Find(budget, "free RAM")->allowed_bytes);
}

TEST(LoaderBudget, EachLimitRefusesAloneWithARemedy) {
  const LoaderOptions options = Options(8, ElementType::kUint8, "sim");
  const double needed = Plan(options).host_bytes();
  const Room rooms[] = {{.free_bytes = needed - 1},
                        {.container_bytes = needed - 1},
                        {.memlock_bytes = 8e3},
                        {.free_bytes = 2 * needed - 1, .ranks = 2}};
  const char* names[] = {"free RAM", "container", "memlock", "free RAM, a rank of 2"};
  for (size_t i = 0; i < std::size(rooms); ++i) {
    const LoaderBudget budget = Plan(options, rooms[i]);
    EXPECT_FALSE(budget.fits()) << names[i];
    ASSERT_NE(Find(budget, names[i]), nullptr) << names[i];
    for (const Limit& limit : budget.limits) {
      EXPECT_EQ(limit.fits(), limit.name != names[i]) << limit.name;
      EXPECT_FALSE(limit.remedy.empty());
    }
  }
  EXPECT_TRUE(Plan(options, {.free_bytes = 2 * needed, .container_bytes = needed * 2, .ranks = 2}).fits());
}

TEST(LoaderBudget, RefusesWhatTheMemoryLimitForbidsJustAsTheLoader) {
  LoaderOptions options = Options(8, ElementType::kUint8, "cpu");
  options.index = "off";  // which takes what is left, at most
  const auto bytes = static_cast<int64_t>(Plan(options).plan.host_bytes());
  options.memory_limit_bytes = bytes;
  EXPECT_TRUE(Plan(options).fits());
  EXPECT_NO_THROW(Loader(options, OpenFolder(Photos())));
  options.memory_limit_bytes = bytes - 1;
  const LoaderBudget budget = Plan(options);
  EXPECT_FALSE(budget.fits());
  EXPECT_THAT(Find(budget, "--memory-limit")->remedy, HasSubstr("--memory-limit"));
  EXPECT_THROW(Loader(options, OpenFolder(Photos())), Error);
}

TEST(LoaderBudget, RefusesWhatTheDeviceHasNotFree) {
  const LoaderOptions options = Options(8, ElementType::kUint8, "sim");
  const LoaderBudget budget = Plan(options, {}, MakeSimDevice({.memory_bytes = 1 << 20}));
  const Limit* limit = Find(budget, "free on sim");
  ASSERT_NE(limit, nullptr);
  EXPECT_EQ(limit->allowed_bytes, 1 << 20);
  EXPECT_FALSE(limit->fits());
  EXPECT_FALSE(budget.fits());
}

TEST(RoomOf, TakesTheFiguresOfTheOverview) {
  Overview overview;
  overview.memory.available_bytes = 5;
  overview.memory.memlock_bytes = 7;
  overview.cpu.local_ranks = 3;
  const Room room = RoomOf(overview);
  EXPECT_EQ(room.free_bytes, 5);
  EXPECT_FALSE(room.container_bytes);
  EXPECT_EQ(room.memlock_bytes, 7);
  EXPECT_EQ(room.ranks, 3);
}

}  // namespace
}  // namespace stoker
