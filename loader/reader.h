// Files -> read buffers. Two implementations, one promise; the pread pool is the other's oracle.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "loader/options.h"
#include "loader/sample_job.h"
#include "loader/source.h"
#include "transfer/clock.h"

namespace stoker {

// Reads every extent of a job into its buffer, side by side.
// Threads: made, used and destroyed on the *feeder* thread; only Wake may be called from any other.
// A job comes back with `encoded_bytes` set, or with its error and words. A read that misses the deadline comes back as
// that sample's error without its buffer, which stays here until the kernel lets go of it.
// The destructor waits a little for reads in flight; what is stuck longer is abandoned on purpose (`abandoned` is then
// set), since the kernel still owns those buffers.
class Reader {
 public:
  struct Options {
    uint32_t queue_depth = 32;
    int64_t deadline_ns = 0;
    NowFn now = nullptr;
    bool* abandoned = nullptr;  // outlives the reader
    // Memory that most reads go to, for io_uring to lock once instead of at each read: 13 % less time in the kernel for
    // files of 130 KB, but all of it is then taken. Empty: nothing is locked. Where the memlock limit forbids it, reads
    // go on without, and the choice says so.
    std::span<uint8_t> fixed = {};
  };

  virtual ~Reader() = default;
  virtual std::string_view name() const noexcept = 0;
  // What became of Options::fixed, in words; empty where nobody asked.
  virtual std::string_view about_fixed() const noexcept { return {}; }

  virtual bool has_room() const noexcept = 0;
  virtual uint32_t in_flight() const noexcept = 0;  // jobs that will still come back
  // Requires: has_room(). Does not block.
  virtual void Submit(SampleJob job) noexcept = 0;
  // Blocks until a job is done, Wake was called or the timeout passed; appends the jobs that are done.
  virtual void Wait(std::vector<SampleJob>& done, std::chrono::nanoseconds timeout) noexcept = 0;
  virtual void Wake() noexcept = 0;
};

// Takes a job whose read missed the deadline, with that error, and leaves only its buffer in `job`: the kernel may
// still write it.
SampleJob TakeLate(SampleJob& job) noexcept;

// What a read of `extent` that ended with `got` bytes means (one byte more than the extent is asked for where it is the
// whole file, so that growth is seen).
std::error_code CheckLength(const Extent& extent, uint64_t got, Diagnosis& diagnosis) noexcept;

// `bytes` to ask for, counting the one that shows growth.
inline uint64_t BytesToAsk(const Extent& extent) noexcept { return extent.bytes + (extent.whole_file ? 1 : 0); }

// Whether the page cache seems to hold all of `extents`. Never waits for the disk.
bool IsCached(const Source& source, const Extents& extents) noexcept;
// Reads the job at once where all of it lies in the page cache; never waits for the disk. Returns false, with the job's
// results untouched, where some of it does not (or the kernel cannot tell). Any thread.
bool ReadCached(const Source& source, NowFn now, SampleJob& job) noexcept;

std::unique_ptr<Reader> MakePreadReader(const Source& source, const Reader::Options& options);
// Null where io_uring cannot be used; `reason` then says why and what to do about it.
std::unique_ptr<Reader> MakeUringReader(const Source& source, const Reader::Options& options, std::string& reason);
// The reader of that kind, and in `choice` its name with the reason, for the report. kUring throws std::runtime_error
// where it cannot be had.
std::unique_ptr<Reader> MakeReader(ReaderKind kind, const Source& source, const Reader::Options& options,
                                   std::string& choice);

}  // namespace stoker
