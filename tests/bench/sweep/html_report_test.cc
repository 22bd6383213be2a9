#include "bench/sweep/html_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <regex>

#include "bench/sweep/sweep_json.h"
#include "tests/loader/picture_folder.h"

namespace stoker {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr char kHostile[] = "/data/</script><!--<script>\"'&\\ \xe7\x85\xa7";

Measurement RunOf(const Setting& setting, double rate) {
  Measurement run;
  run.setting = setting;
  run.images_per_second = rate;
  run.memory_bytes = 50'000'000 * int64_t{setting.num_workers};
  run.first_batch_seconds = 0.1;
  run.shares = {0.1, 0.6, 0.1, 0.1, 0.05, 0.05};
  run.verdict = "CPU-bound";
  return run;
}

// A job with two settings, which have no knob in common.
ScenarioResult Found() {
  const Setting small = {.num_workers = 1}, large = {.num_workers = 2, .prefetch_factor = 4};
  ScenarioResult result;
  result.runs = {RunOf(small, 99), RunOf(small, 101), RunOf(large, 198), RunOf(large, 202)};
  Finding finding;
  finding.lanes = {Lane{.setting = small, .rates = {99, 101}},
                   Lane{.setting = large, .rates = {198, 202}, .against = Interval{1, 0, 2}}};
  finding.best = finding.recommended = finding.lanes[1];
  finding.baselines = {{"a rule", finding.lanes[0]}};
  finding.predictions = {{2, 190, 200}};
  finding.typical = result.runs[3];
  finding.failures = {std::string("3 workers: no ") + kHostile};
  result.finding = finding;
  return result;
}

nlohmann::json JsonOf(const std::vector<ScenarioResult>& scenarios, const std::string& data) {
  SweepResult result;
  result.scenarios = scenarios;
  return ToJson(result, {.command = "stoker bench", .date = "2026-01-01", .machine = "one", .data = data, .cpus = 4});
}

size_t Count(const std::string& text, const std::string& part) {
  size_t times = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++times;
  return times;
}

TEST(HtmlReport, HoldsAllThatItShows) {
  const std::string page = HtmlReport(JsonOf({Found()}, "photos"));
  EXPECT_THAT(page, HasSubstr("Chart.js v3"));
  EXPECT_THAT(page, HasSubstr("function drawLater("));
  EXPECT_THAT(page, HasSubstr("\"data\":\"photos\""));
  EXPECT_THAT(page, Not(HasSubstr("_SCRIPT*/")));
  EXPECT_THAT(page, Not(HasSubstr("CHART_LIBRARY")));
}

TEST(HtmlReport, FetchesNothing) {
  const std::string page = HtmlReport(JsonOf({Found()}, "https://example.com/photos"));
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  const std::regex fetched(R"((src|href|action|data)\s*=\s*["']|url\(|@import|<link|<iframe|<object)");
  std::smatch found;
  EXPECT_FALSE(std::regex_search(page, found, fetched)) << found.str();
}

TEST(HtmlReport, NoNameEndsTheElementThatHoldsIt) {
  const nlohmann::json result = JsonOf({Found()}, kHostile);
  const std::string page = HtmlReport(result);
  EXPECT_EQ(Count(page, "</script>"), Count(HtmlReport(JsonOf({}, "photos")), "</script>"));
  EXPECT_EQ(Count(page, "<!--"), 0U);
  const std::string mark = "id=\"result\">";
  const size_t from = page.find(mark) + mark.size();
  EXPECT_EQ(nlohmann::json::parse(page.substr(from, page.find("</script>", from) - from)), result);
}

TEST(HtmlReport, TakesNamesThatAreNoUtf8) {
  EXPECT_THAT(HtmlReport(JsonOf({}, "photo\xff")), HasSubstr("photo\xef\xbf\xbd"));
}

// What a browser makes of a page's content; empty: there is none, or it does not run here.
std::string Rendered(const std::string& page) {
  const TempFolder folder;
  std::ofstream(folder.path() / "report.html", std::ios::binary) << page;
  const std::string command =
      "timeout 200 $(command -v chromium || command -v chromium-browser || command -v google-chrome || echo false) "
      "--headless --no-sandbox --disable-gpu --virtual-time-budget=5000 --window-size=1200,9000 --user-data-dir=" +
      folder.string() + "/browser --dump-dom file://" + folder.string() + "/report.html 2>/dev/null";
  // NOLINTNEXTLINE(bugprone-command-processor): a shell finds the browser
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string text;
  for (int c = std::fgetc(pipe.get()); c != EOF; c = std::fgetc(pipe.get())) text += static_cast<char>(c);
  const size_t begin = std::min(text.find("<main"), text.size());  // not the scripts, which have all the words too
  return text.substr(begin, text.find("</main>") - begin);
}

TEST(HtmlReport, ABrowserDrawsIt) {
  ScenarioResult nothing;
  nothing.runs.emplace_back().error = "<b>broken</b>";
  const std::string page = Rendered(HtmlReport(JsonOf({Found(), nothing}, kHostile)));
  if (page.empty()) GTEST_SKIP() << "left out: there is no Chromium that runs";
  EXPECT_THAT(page, Not(HasSubstr("script failed: ")));
  EXPECT_EQ(Count(page, "<canvas"), 4U);
  EXPECT_EQ(Count(page, "style=\"display: block;"), 4U) << "charts that were drawn";
  EXPECT_EQ(Count(page, "As a table: "), 4U);
  EXPECT_THAT(page, HasSubstr("<span>2 workers, prefetch 4, depth 32, auto</span>"));
  EXPECT_THAT(page, HasSubstr("Nothing can be recommended: &lt;b&gt;broken&lt;/b&gt;"));
  EXPECT_THAT(page, HasSubstr("<li>3 workers: no /data/&lt;/script&gt;&lt;!--&lt;script&gt;"));
}

TEST(HtmlReport, ABrowserSaysThatThereIsNothing) {
  const std::string page = Rendered(HtmlReport(JsonOf({}, "photos")));
  if (page.empty()) GTEST_SKIP() << "left out: there is no Chromium that runs";
  EXPECT_THAT(page, Not(HasSubstr("script failed: ")));
  EXPECT_THAT(page, HasSubstr("No job was measured."));
}

}  // namespace
}  // namespace stoker
