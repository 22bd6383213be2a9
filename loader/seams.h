// What a loader gets from outside itself, so that tests can put doubles in its place.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "loader/options.h"
#include "loader/reader.h"
#include "transfer/clock.h"
#include "transfer/device.h"

namespace stoker {

struct LoaderSeams {
  NowFn now = SteadyNow;
  NowFn thread_cpu_now = ThreadCpuNow;
  // Makes the reader, on the feeder thread.
  std::function<std::unique_ptr<Reader>(ReaderKind, const Source&, const Reader::Options&, std::string& choice)>
      make_reader = MakeReader;
  // Called by the thread that decodes a sample, before it does and within its time: what makes decoding slow. May be
  // null.
  std::function<void(const SampleJob&)> slow_decode;
  std::function<int32_t()> most_workers = DefaultWorkers;  // of kAutoWorkers
  // A device of the caller's own instead of the one that LoaderOptions::device names; may be null.
  std::unique_ptr<Device> device;
};

}  // namespace stoker
