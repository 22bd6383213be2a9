#include "bench/top/screen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/bench/top/made_up_report.h"

namespace stoker {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

ReportView View(const StepReport& report) { return ReportView::Parse(ToJsonLine(report)).value(); }

JobView FullView() {
  JobView view;
  view.job = "python train.py --epochs 90 --batch-size 64";
  view.where = "pid 4711";
  view.loaders = {{View(FullReport()), 0.3, std::nullopt}};
  view.keys = "h help  q quit";
  return view;
}

std::string Text(const JobView& view, int width, int height) { return PlainText(Draw(view, width, height)); }

TEST(Screen, Fits80By24) {
  EXPECT_EQ("\n" + Text(FullView(), 80, 24), R"(
python train.py --epochs 90 --batch-size 64                             pid 4711
step      12500  41.8 ms  1531 img/s  epoch 3  average 41.5 ms  (over 400 steps)
stall     11.2 %  host 0.3 ms  device 4.4 ms  210 times none was ready
verdict   moderately loader-bound; CPU-bound: decoding and augmenting take 62 %
          of the path and the workers are full
advice    More or faster cores help (num_workers), or smaller pictures on disk,
          or decode=fast for large ones.

path      of the wall time                          img/s  x rate   busy  +10 %
io          7 % +/-2    [##                      ]   9.8k    x6.4   12 %  +0.7 %
decode     62 % +/-4    [###############         ]   1.6k    x1.1   97 %  +6.0 %
copy        2 %         [                        ]    41k   x26.8    5 %  +0.2 %
consumer   27 % +/-3    [######                  ]   6.9k    x4.5   27 %  +2.5 %
runtime     1 %         [                        ]
other       1 %         [                        ]
parts     open 1 %, storage 4 %, page cache 2 %, decode 48 %, augment 12 %, off
          CPU 2 %, transfer 2 %, step 25 %, host gap 2 %, runtime 1 %, other 1 %
predict   if decode were 10 % faster: +6.0 % images/s
memory    6.1 GB  +20.0 MB an epoch  loader 400.0 MB  pinned 200.0 MB
cpu       busy 57 %  7.2 cores  run queue 3 %  cache hits 12 %  I/O pressure 8 %
gpu       busy 88 %  18.2 GB of 24.0 GB
slots     [##      ] 2 of 8 full
reader    12 workers  device NVIDIA H200  io_uring (self-test passed)
updated 0.3 s ago                                                 h help  q quit
)");
}

TEST(Screen, Fits120By40) {
  EXPECT_EQ("\n" + Text(FullView(), 120, 40), R"(
python train.py --epochs 90 --batch-size 64                                                                     pid 4711
step      12500  41.8 ms  1531 img/s  epoch 3  average 41.5 ms  (over 400 steps)
stall     11.2 %  host 0.3 ms  device 4.4 ms  210 times none was ready
verdict   moderately loader-bound; CPU-bound: decoding and augmenting take 62 % of the path and the workers are full
advice    More or faster cores help (num_workers), or smaller pictures on disk, or decode=fast for large ones.

path      of the wall time                                                                  img/s  x rate   busy  +10 %
io          7 % +/-2    [####                                                            ]   9.8k    x6.4   12 %  +0.7 %
decode     62 % +/-4    [########################################                        ]   1.6k    x1.1   97 %  +6.0 %
copy        2 %         [#                                                               ]    41k   x26.8    5 %  +0.2 %
consumer   27 % +/-3    [#################                                               ]   6.9k    x4.5   27 %  +2.5 %
runtime     1 %         [#                                                               ]
other       1 %         [#                                                               ]
parts     open 1 %, storage 4 %, page cache 2 %, decode 48 %, augment 12 %, off CPU 2 %, transfer 2 %, step 25 %, host
          gap 2 %, runtime 1 %, other 1 %
predict   if decode were 10 % faster: +6.0 % images/s

memory    6.1 GB  +20.0 MB an epoch  loader 400.0 MB  pinned 200.0 MB  pressure 0 %
cpu       busy 57 %  7.2 cores  run queue 3 %  cache hits 12 %  I/O pressure 8 %
gpu       busy 88 %  18.2 GB of 24.0 GB
slots     [##      ] 2 of 8 full
reader    12 workers  device NVIDIA H200  io_uring (self-test passed)

















updated 0.3 s ago                                                                                         h help  q quit
)");
}

TEST(Screen, Fits40By10) {
  EXPECT_EQ("\n" + Text(FullView(), 40, 10), R"(
python train.py --epochs 90 ..  pid 4711
step      12500  41.8 ms  1531 img/s
stall     11.2 %  host 0.3 ms
verdict   moderately loader-bound;
          CPU-bound: decoding and
io          7 % +/-2    [#             ]
decode     62 % +/-4    [#########     ]
copy        2 %         [              ]
consumer   27 % +/-3    [####          ]
updated 0.3 s ago         h help  q quit
)");
}

TEST(Screen, IsNeverLargerThanItMayBe) {
  JobView view = FullView();
  StepReport report = FullReport();
  report.warnings = {"memory grows by 80 MB an epoch", std::string(500, 'w')};
  report.stalls.skipped_count = 12;
  report.stalls.pinned = false;
  view.job = std::string(300, 'j');
  view.loaders = {{View(report), 99, 12.0}, view.loaders[0], view.loaders[0]};
  view.selected = 2;
  view.damaged = 3;
  for (int height = 0; height <= 45; ++height) {
    for (int width = 0; width <= 130; ++width) {
      for (const auto& lines : {Draw(view, width, height), DrawHelp(width, height)}) {
        if (height > 0 && width > 0) {
          ASSERT_EQ(lines.size(), static_cast<size_t>(height));
        }
        for (const ScreenLine& line : lines) {
          size_t wide = 0;
          for (const Span& span : line) wide += span.text.size();
          ASSERT_LE(wide, static_cast<size_t>(width)) << width << " by " << height;
        }
      }
    }
  }
}

TEST(Screen, AnOldReportIsSaidToBe) {
  JobView view = FullView();
  view.loaders[0].age_seconds = 12;
  EXPECT_THAT(Text(view, 80, 24), HasSubstr("no batch asked for since 12 s"));
  view.loaders[0].waiting_seconds = 11;
  EXPECT_THAT(Text(view, 80, 24), HasSubstr("waiting for a batch for 11 s"));
  view.loaders[0].waiting_seconds = 0.2;
  view.loaders[0].age_seconds = 0.4;
  EXPECT_THAT(Text(view, 80, 24), HasSubstr("updated 0.4 s ago"));
}

TEST(Screen, AReportOfLongStepsIsNotOldAfterOne) {
  JobView view = FullView();
  StepReport report = FullReport();
  report.step_ms = 8000;
  view.loaders = {{View(report), 12, std::nullopt}};
  EXPECT_THAT(Text(view, 80, 24), HasSubstr("updated 12 s ago"));
}

TEST(Screen, OfAFileItSaysWhenItWasWritten) {
  JobView view = FullView();
  view.live = false;
  view.loaders[0].age_seconds = 600;
  view.damaged = 2;
  EXPECT_THAT(Text(view, 80, 24), HasSubstr("written 10 min ago, 2 damaged lines"));
}

TEST(Screen, TheEndIsSaidInPlaceOfTheAge) {
  JobView view = FullView();
  view.notice = "process 4711 has ended";
  for (const int width : {40, 80}) EXPECT_THAT(Text(view, width, 10), HasSubstr("\nprocess 4711 has ended"));
}

TEST(Screen, LoadersStandUnderEachOther) {
  JobView view = FullView();
  StepReport report = FullReport();
  report.step = 99;
  report.step_ms = 7;
  view.loaders.push_back({View(report), 0, std::nullopt});
  view.selected = 1;
  const std::string text = Text(view, 80, 24);
  EXPECT_THAT(text, HasSubstr("\n  loader 1   41.8 ms  stall  11.2 %  decode    step 12500\n"
                              "> loader 2    7.0 ms  stall  11.2 %  decode    step 99\n"));
  EXPECT_THAT(text, HasSubstr("\nstep      99  7.0 ms"));
}

TEST(Screen, WarningsAndUnpinnedMemoryAreWarnings) {
  JobView view = FullView();
  StepReport report = FullReport();
  report.warnings = {"steps take 30 % longer since epoch 7"};
  report.stalls.pinned = false;
  report.stalls.skipped_count = 1;
  view.loaders = {{View(report), 0, std::nullopt}};
  std::string warned;
  for (const ScreenLine& line : Draw(view, 80, 0)) {
    for (const Span& span : line) warned += span.tone == Tone::kWarning ? span.text + "\n" : "";
  }
  EXPECT_EQ(warned, "  NOT page-locked\nsteps take 30 % longer since epoch 7\n1 bad sample so far\n");
}

TEST(Screen, WhatIsNotKnownIsNotThere) {
  StepReport report = FullReport();
  report.rss_bytes = report.anonymous_bytes = std::nullopt;
  report.growth_bytes_per_epoch = report.cpu_cores = report.cpu_share = report.run_queue_share = std::nullopt;
  report.cache_hit_share = report.io_pressure = report.memory_pressure = std::nullopt;
  report.vram_used_bytes = report.vram_total_bytes = std::nullopt;
  report.gpu_busy_percent = std::nullopt;
  JobView view = FullView();
  view.loaders = {{View(report), 0, std::nullopt}};
  const std::string text = Text(view, 80, 0);
  for (const char* word : {"cpu ", "gpu", "epoch\n", "pressure", "nan"}) EXPECT_THAT(text, Not(HasSubstr(word)));
  EXPECT_THAT(text, HasSubstr("memory    loader 400.0 MB  pinned 200.0 MB\n"));
}

// Whatever somebody else's file holds: nothing is thrown, nothing but text reaches the terminal.
TEST(Screen, OddReportsHarmNobody) {
  const std::string whole = ToJsonLine(FullReport());
  const nlohmann::json odd_values[] = {
      nullptr, true, -1, 1e300, "x\x1b[31m\n", nlohmann::json::array({1, "a\x07"}), nlohmann::json::object(), "~/~2"};
  const nlohmann::json flat = nlohmann::json::parse(whole).flatten();
  for (const auto& [pointer, unused] : flat.items()) {
    for (const nlohmann::json& odd : odd_values) {
      nlohmann::json report = nlohmann::json::parse(whole);
      report[nlohmann::json::json_pointer(pointer)] = odd;
      const auto odd_report = ReportView::Parse(report.dump());
      if (!odd_report) continue;
      JobView view = FullView();
      view.loaders = {{*odd_report, 0, std::nullopt}};
      for (const char c : Text(view, 80, 24)) ASSERT_TRUE(c == '\n' || (c >= ' ' && c <= '~')) << pointer;
    }
  }
}

TEST(Screen, WithoutALoaderItExplains) {
  JobView view;
  view.job = "python train.py";
  view.explanation = "No loader of this process has given out a batch yet.";
  EXPECT_THAT(Text(view, 80, 5), StartsWith("python train.py\n\n          No loader of this process has given"));
}

}  // namespace
}  // namespace stoker
