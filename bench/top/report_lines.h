// A loader's report as the lines of `stoker top`.
#pragma once

#include "bench/top/lines.h"
#include "bench/top/report_view.h"

namespace stoker {

// `width`: 40 or more.
void AddReport(Lines& lines, const ReportView& report, size_t width);

}  // namespace stoker
