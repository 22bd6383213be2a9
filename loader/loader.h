// The C++ API: options and a source in, batches and a stall report out.
//
//   stoker::Loader loader({.batch_size = 64}, stoker::OpenFolder("photos/train"));
//   while (auto batch = loader.Next()) Train(batch->pixels(), batch->labels());
//   std::cout << stoker::FormatReport(loader.Report());
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "loader/batch.h"
#include "loader/error.h"
#include "loader/options.h"
#include "loader/sampler.h"
#include "loader/source.h"
#include "loader/stall_report.h"
#include "transfer/device.h"

namespace stoker {

struct LoaderSeams;

// Called on the caller's thread about ten times a second while a call waits; what it throws ends the call.
using WhileWaiting = std::function<void()>;

// Loads batches ahead of the caller, for as many epochs as are asked for.
// Everything a batch holds is a pure function of (seed, epoch, position): of neither threads, readers, devices nor
// timing.
// Threads: the functions are for one caller's thread at a time. Starts threads only with the first batch asked for: one
// *feeder*, the workers it borrows from the process, with a device one *prefetcher*, and after epochs where
// options().index is a folder a *keeper* for as long as it takes to write there. Installs no signal handler, changes no
// environment. A loader that was started, or has a device, must not be used after fork(): every call that is not
// noexcept then throws kForked, as does making one with workers in a child whose parent's workers had started.
// Memory: everything is reserved by the constructor (`Report().buffers`); streaming allocates nothing.
class Loader {
 public:
  // Throws std::invalid_argument naming a bad option, Error or std::system_error where memory or device are missing.
  Loader(LoaderOptions options, std::shared_ptr<const Source> source);
  // With doubles in place of the clock, the reader or the device: for tests.
  Loader(LoaderOptions options, std::shared_ptr<const Source> source, LoaderSeams seams);
  // Stops within a second whatever is under way; writing what was learned to LoaderOptions::index, where that is a
  // folder, may take some more. Batches that the caller holds stay valid.
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // The next Next() gives the batch that begins at `position` of `epoch`, exactly as an unbroken run would have given
  // the samples from there on. O(1) in the position. What was under way is dropped; blocks until reads in flight are
  // back. Where `while_waiting` throws, an epoch is to be started again. Throws std::invalid_argument where the
  // position lies beyond the epoch.
  void StartEpoch(uint64_t epoch, uint64_t position = 0, const WhileWaiting& while_waiting = {});
  // The same in an order of the caller's, whose ids must be the source's: a list (ListOrder), or what is left of an
  // epoch that was begun in another world (Sampler with `done`). For this epoch only; `epoch` turns the dice. The
  // lengths below are still those of the loader's own order.
  void StartEpoch(uint64_t epoch, std::shared_ptr<const Order> order, uint64_t position = 0,
                  const WhileWaiting& while_waiting = {});

  // The next batch, or nothing at the end of the epoch; the call after that begins the next epoch by itself. Blocks
  // until the batch is ready. Work submitted to `stream` from now on finds the data there; kHostStream: the calling
  // thread does.
  // Throws Error for a bad sample (OnError::kRaise; calling again goes on with the following batch), for too many of
  // them, where the caller holds every batch, and where the pipeline has failed for good.
  // Where `while_waiting` throws, the next call goes on with the same batch.
  std::optional<Batch> Next(StreamHandle stream = kHostStream, const WhileWaiting& while_waiting = {});

  // Makes the call that waits, and every later Next and StartEpoch, throw kCancelled within a tenth of a second. May be
  // called from any thread and from a signal handler.
  void Cancel() noexcept;

  // Batches and samples of one whole epoch of this rank, the same in every epoch.
  int64_t batches_per_epoch() const noexcept;
  int64_t samples_per_epoch() const noexcept;
  const LoaderOptions& options() const noexcept;
  const SampleSpec& spec() const noexcept;

  // What held the caller back since the first Next(), or since RestartReport(). Cheap, but not free: not for every
  // step.
  StallReport Report();
  void RestartReport();
  // Tells the periodic report that an epoch which was given as orders of the caller's (StartEpoch), maybe several, is
  // over; of the loader's own orders it knows.
  void EndEpoch();

  // Writes what the stall counters still hold, the last few batches to hundreds of them, for Chrome's and Perfetto's
  // trace viewers, with the critical path through it. Takes up to some tenths of a second and memory for it. Throws
  // std::system_error naming the path where that cannot be written; what was there then stays. Also after Cancel.
  void WriteTrace(const std::string& path);

  // True once the slots added for a caller that keeps batches (grow_slots) have outgrown memory_limit_bytes.
  bool OverBudget() const;

  // How many decode at once, from now on: 1 to options().num_workers, which where kAutoWorkers was asked for is the
  // most that it may choose. Ends its choosing. Throws std::invalid_argument for other numbers.
  void SetActiveWorkers(int32_t workers);
  // How many may decode at once now.
  int32_t active_workers() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// The report as the lines that `stoker run` ends with.
std::string FormatReport(const StallReport& report);
// The rate, the stall and the verdict, for a log.
std::string FormatLine(const StallReport& report);

}  // namespace stoker
