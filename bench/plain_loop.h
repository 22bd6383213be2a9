// The loop that most loaders amount to, as the benchmark's yardstick.
#pragma once

#include <cstdint>
#include <string>

namespace stoker {

// Loads every picture of `folder` `epochs` times with `threads` threads and plain means: pread the file, decode all of
// it with libjpeg-turbo, crop, cv::resize (INTER_AREA where the crop shrinks, else INTER_LINEAR), normalise to float32
// NCHW, write into a batch of 64. The crops are those of the loader. Returns images a second.
double RunPlainLoop(const std::string& folder, int threads, int epochs);

}  // namespace stoker
