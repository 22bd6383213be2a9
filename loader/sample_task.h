// What a worker does with one sample: peek, plan, decode, augment into the slot.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "augment/augment.h"
#include "augment/recipe.h"
#include "decode/decoder.h"
#include "decode/jpeg/marks.h"
#include "loader/bad_samples.h"
#include "loader/index/row_index.h"
#include "loader/options.h"
#include "loader/sample_job.h"
#include "loader/source.h"
#include "loader/stall_log.h"
#include "transfer/clock.h"

namespace stoker {

// What sample tasks work with; all of it outlives them.
struct SampleTaskParts {
  const LoaderOptions& options;
  const CompiledRecipe& recipe;
  const SampleSpec written;  // what goes into the slot: the recipe's sample, or what a kernel makes it of
  bool device_finishes;      // the latter; then flips are left to the kernel
  const Source& source;
  ReadBuffers& buffers;
  StallLog& log;
  BadSamples& bad;
  NowFn now;
  NowFn thread_cpu_now;
  uint32_t workers;
  std::function<void(const SampleJob&)> slow_decode;  // LoaderSeams::slow_decode
  RowIndex* index;                                    // null: nothing is learned of the pictures
  // Gets jobs that go back to the feeder with their place in the slot: bad samples that are to be replaced, and files
  // that have left the page cache.
  std::function<void(SampleJob)> retry;
};

// Runs sample jobs; one set of scratch memory for each worker.
// Threads: Run is called by *workers*, never twice at once with the same worker number; FailRead by the *feeder*.
class SampleTask {
 public:
  explicit SampleTask(SampleTaskParts parts);

  void Run(uint32_t worker, SampleJob job) noexcept;
  // Ends a job whose read (or lease) failed, as the policy says.
  void Fail(SampleJob job) noexcept;

  // What decoding this picture would ask for: also used by the feeder, to plan before reading.
  DecodeRequest RequestFor(const Plan& plan) const noexcept;
  // Draws the job's plan for a picture of `size`; the error says both sizes.
  std::error_code MakePlanFor(SampleJob& job, ImageSize size) const noexcept;

  // Bytes of scratch that all workers hold now.
  size_t scratch_bytes() const noexcept;
  // Pictures that all workers decoded so far, by JpegPath.
  std::array<uint64_t, kJpegPaths> decoded() const noexcept;

 private:
  struct Worker {
    Worker(const DecodeLimits& limits, const SampleSpec& spec) : decoder(limits), augmenter(spec) {}
    Decoder decoder;
    Augmenter augmenter;
    Image image;
    JpegMarks marks;   // of the picture under way
    Predecessor last;  // the job that this worker ended last
    // For the report; order nothing.
    std::atomic<size_t> scratch_bytes{0};
    std::array<std::atomic<uint64_t>, kJpegPaths> decoded{};
  };

  // Reads a job from the page cache; false where it went back to the feeder.
  bool ReadFromCache(Worker& worker, SampleJob& job, SampleRecord* record) noexcept;
  void Process(Worker& worker, SampleJob& job, SampleRecord* record) noexcept;
  // Decodes what the plan needs, with what is known of the picture, and keeps what there was to be learned.
  std::error_code Decode(Worker& worker, std::span<const uint8_t> bytes, SampleJob& job, RegionBox& box) const noexcept;
  void StampStart(const Worker& worker, const SampleJob& job, SampleRecord& record) const noexcept;
  void StampEnd(Worker& worker, SampleRecord& record) const noexcept;
  // Notes a picture that decoded, and makes this worker's image as large as the largest any worker has met.
  void GrowWith(Worker& worker, ImageSize picture) noexcept;

  const SampleTaskParts parts_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::atomic<size_t> largest_bytes_{0};  // of a whole picture; orders nothing
};

}  // namespace stoker
