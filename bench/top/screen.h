// What `stoker top` shows, as lines of text: knows no terminal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/top/lines.h"
#include "bench/top/report_view.h"

namespace stoker {

// One loader.
struct LoaderView {
  ReportView report;
  double age_seconds = 0;                 // of the report
  std::optional<double> waiting_seconds;  // that the caller has waited for a batch by now
};

struct JobView {
  std::string job;                  // the command, or the file
  std::string where;                // "pid 4711"
  std::vector<LoaderView> loaders;  // empty: none yet
  size_t selected = 0;              // of them
  std::string explanation;          // where there is none
  std::string notice;               // what is to be said in place of the report's age
  std::string keys;                 // that work; empty: none
  bool live = true;                 // reports come twice a second, so that an old one tells something
  int64_t damaged = 0;              // lines of a file that were no reports
};

// At most `width` characters a line, and no more than `height` lines, the last at the bottom; a height of 0: as many as
// it takes. What matters least is left out first. Made for 40 by 10 and more; of what is smaller, a corner is drawn.
std::vector<ScreenLine> Draw(const JobView& view, int width, int height);
// The words of the screen explained; the same way.
std::vector<ScreenLine> DrawHelp(int width, int height);

// Without colours, each line with its end.
std::string PlainText(const std::vector<ScreenLine>& lines);

}  // namespace stoker
