// The C++ API: options and a source in, batches and a stall report out.
//
//   stoker::Loader loader({.batch_size = 64}, stoker::OpenFolder("photos/train"));
//   while (auto batch = loader.Next()) Train(batch->pixels(), batch->labels());
//   std::cout << stoker::FormatReport(loader.Report());
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "loader/batch.h"
#include "loader/error.h"
#include "loader/options.h"
#include "loader/source.h"
#include "loader/stall_report.h"
#include "transfer/device.h"

namespace stoker {

struct LoaderSeams;

// Loads batches ahead of the caller, for as many epochs as are asked for.
// Everything a batch holds is a pure function of (seed, epoch, position): of neither threads, readers, devices nor
// timing.
// Threads: the functions are for one caller's thread at a time. Starts threads only with the first batch asked for: one
// *feeder*, the workers it borrows from the process, and with a device one *prefetcher*. Installs no signal handler,
// changes no environment. A loader that was started must not be used after fork(): every call then throws kForked.
// Memory: everything is reserved by the constructor (`Report().buffers`); streaming allocates nothing.
class Loader {
 public:
  // Throws std::invalid_argument naming a bad option, Error or std::system_error where memory or device are missing.
  Loader(LoaderOptions options, std::unique_ptr<Source> source);
  // With doubles in place of the clock, the reader or the device: for tests.
  Loader(LoaderOptions options, std::unique_ptr<Source> source, LoaderSeams seams);
  // Stops within a second whatever is under way. Batches that the caller holds stay valid.
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // The next Next() gives the batch that begins at `position` of `epoch`, exactly as an unbroken run would have given
  // the samples from there on. O(1) in the position. What was under way is dropped; blocks until reads in flight are
  // back. Throws std::invalid_argument where the position lies beyond the epoch.
  void StartEpoch(uint64_t epoch, uint64_t position = 0);

  // The next batch, or nothing at the end of the epoch; the call after that begins the next epoch by itself. Blocks
  // until the batch is ready. Work submitted to `stream` from now on finds the data there; kHostStream: the calling
  // thread does.
  // Throws Error for a bad sample (OnError::kRaise; calling again goes on with the following batch), for too many of
  // them, where the caller holds every batch, and where the pipeline has failed for good.
  std::optional<Batch> Next(StreamHandle stream = kHostStream);

  // Makes the Next that waits, and every later one, throw kCancelled within a tenth of a second. May be called from any
  // thread and from a signal handler.
  void Cancel() noexcept;

  // Batches and samples of one whole epoch of this rank, the same in every epoch.
  int64_t batches_per_epoch() const noexcept;
  int64_t samples_per_epoch() const noexcept;
  const LoaderOptions& options() const noexcept;
  const SampleSpec& spec() const noexcept;

  // What held the caller back since the first Next(). Cheap, but not free: not for every step.
  StallReport Report();

  // How many decode at once, from now on: 1 to options().num_workers. For tuning while running.
  void SetActiveWorkers(int32_t workers);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// The report as the lines that `stoker run` ends with.
std::string FormatReport(const StallReport& report);

}  // namespace stoker
