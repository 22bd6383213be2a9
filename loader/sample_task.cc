#include "loader/sample_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "loader/error.h"
#include "loader/reader.h"
#include "loader/transfer_plan.h"
#include "transfer/finish_launch.h"

namespace stoker {
namespace {

// Larger pictures than this (21 million pixels in colour) get scratch memory as their crops need it.
constexpr size_t kMaxReservedBytes = size_t{64} << 20;

// What the kernel is to do, so that the augmenter does not.
uint8_t TakeFlips(Plan& plan) {
  const int horizontal = std::exchange(plan.flip_horizontal, false) ? kFlipHorizontal : 0;
  const int vertical = std::exchange(plan.flip_vertical, false) ? kFlipVertical : 0;
  return static_cast<uint8_t>(horizontal | vertical);
}

}  // namespace

SampleTask::SampleTask(const LoaderOptions& options, const CompiledRecipe& recipe, const SampleSpec& written,
                       bool device_finishes, const Source& source, ReadBuffers& buffers, StallLog& log, BadSamples& bad,
                       NowFn now, uint32_t workers, std::function<void(SampleJob)> retry)
    : options_(options),
      recipe_(recipe),
      device_finishes_(device_finishes),
      source_(source),
      buffers_(buffers),
      log_(log),
      bad_(bad),
      now_(now),
      retry_(std::move(retry)) {
  for (uint32_t i = 0; i < std::max(workers, 1u); ++i) {
    workers_.push_back(std::make_unique<Worker>(options.limits, written));
  }
}

DecodeRequest SampleTask::RequestFor(const Plan& plan) const noexcept {
  DecodeRequest request;
  request.region = plan.region;
  request.channels = recipe_.recipe().channels;
  if (options_.decode == DecodeMode::kFast) request.at_least = plan.region_at_least;
  return request;
}

std::error_code SampleTask::MakePlanFor(SampleJob& job, ImageSize size) const noexcept {
  const PlanError error = MakePlan(recipe_, size, job.key, job.plan);
  job.planned = error == PlanError::kNone;
  if (job.planned) return {};
  const ImageSize wanted = recipe_.spec().size;
  char words[sizeof job.diagnosis.detail] = {};
  const char* const verdict =
      error == PlanError::kTooSmall ? "too small for a crop on the way to" : "which does not come out at the batch's";
  const auto end = fmt::format_to_n(words, sizeof words - 1, "the picture is {}x{}, {} {}x{}", size.width, size.height,
                                    verdict, wanted.width, wanted.height);
  job.diagnosis.Say({words, std::min(end.size, sizeof words - 1)});
  return error == PlanError::kTooSmall ? LoadError::kTooSmallForCrop : LoadError::kWrongSize;
}

void SampleTask::GrowWith(Worker& worker, ImageSize picture) noexcept {
  const size_t bytes = Image::BytesFor(picture, static_cast<int32_t>(recipe_.recipe().channels));
  size_t largest = largest_bytes_.load(std::memory_order_relaxed);
  while (bytes <= kMaxReservedBytes && bytes > largest &&
         !largest_bytes_.compare_exchange_weak(largest, bytes, std::memory_order_relaxed)) {
  }
  // So memory stops growing when every picture was met once by any worker, not by each of them.
  worker.image.Reserve(largest_bytes_.load(std::memory_order_relaxed));
}

void SampleTask::Process(Worker& worker, SampleJob& job, SampleRecord* record) noexcept {
  const std::span<const uint8_t> bytes = job.encoded.memory().first(job.encoded_bytes);
  ImageSize size;
  if (!job.planned) {
    job.error = worker.decoder.Peek(bytes, size, job.diagnosis);
    if (!job.error) job.error = MakePlanFor(job, size);
    if (job.error) return;
  }
  RegionBox box;
  job.error = worker.decoder.Decode(bytes, RequestFor(job.plan), worker.image, box, job.diagnosis);
  if (record != nullptr) record->decoded_ns = now_();
  if (job.error) return;
  // The encoded bytes are not needed any more: the next read may have their buffer while this sample is augmented.
  job.encoded.ReleaseBy(job.sequence);
  if (device_finishes_) job.out.Set(kFlips, TakeFlips(job.plan));
  if (!worker.augmenter.Run(worker.image.view(), {box.x0, box.y0, box.x1, box.y1}, job.plan, job.out.bytes(kPixels))) {
    job.error = LoadError::kNoMemory;
  }
  if (size != ImageSize{}) GrowWith(worker, size);
}

bool SampleTask::ReadFromCache(Worker& worker, SampleJob& job, SampleRecord* record) noexcept {
  if (record != nullptr && job.attempt == 0) {
    record->submit_ns = now_();
    record->before_read.Consider(worker.last);
  }
  // The buffer freed last is the one that this worker has just decoded from: still in its cache. Where none is free, or
  // the file is not all in the page cache after all, the feeder sees to it.
  const bool leased = buffers_.TryLease(job.extents.bytes() + 1, job.encoded) == ReadBuffers::Outcome::kLeased;
  if (!leased || !ReadCached(source_, job)) {
    job.from_cache = false;
    job.evicted = true;
    retry_(std::move(job));
    return false;
  }
  if (record != nullptr) {
    if (job.attempt == 0) record->arrive_ns = now_();
    record->bytes += job.encoded_bytes;
    record->cached = true;
  }
  return true;
}

void SampleTask::Run(uint32_t number, SampleJob job) noexcept {
  Worker& worker = *workers_[number];
  SampleRecord* record = kCountersOn ? &log_.sample(job.sequence) : nullptr;
  if (job.from_cache && !ReadFromCache(worker, job, record)) return;
  // A replacement goes on with the record of the sample whose place it takes, so that times never run backwards on the
  // path: what the first attempt freed was freed after the recorded start.
  if (record != nullptr && job.attempt == 0) {
    record->start_ns = record->decoded_ns = job.from_cache ? record->arrive_ns : now_();
    record->before_decode = {record->arrive_ns, job.sequence, Cause::kRead};
    record->before_decode.Consider(worker.last);
  }
  if (!job.error) Process(worker, job, record);
  if (record != nullptr) {
    record->end_ns = now_();
    record->decoded_ns = std::min(record->decoded_ns, record->end_ns);
    worker.last = {record->end_ns, job.sequence, Cause::kDecode};
  }
  worker.scratch_bytes.store(
      worker.decoder.scratch_bytes() + worker.augmenter.scratch_bytes() + worker.image.capacity_bytes(),
      std::memory_order_relaxed);
  if (job.error) return Fail(std::move(job));
  if (job.diagnosis.warnings > 0) bad_.CountWarning();
  job.out.Set(kLabel, source_.Label(job.id));
  job.out.Set(kId, static_cast<int64_t>(job.id));
  job.out.Set(kValid, uint8_t{1});
  job.out.Release();
}

void SampleTask::Fail(SampleJob job) noexcept {
  // Given back first: what goes back to the feeder holds no buffer, so waiting for one cannot become a circle.
  job.encoded.ReleaseBy(job.sequence);
  bad_.Add({job.out.batch(), job.position, job.attempt, job.id, job.error, job.diagnosis});
  if (options_.on_error == OnError::kSkip && job.error != LoadError::kNoGoodSample) return retry_(std::move(job));
  // Under kRaise the batch is never shown; zeros keep its bytes a function of the seed all the same.
  const std::span<std::byte> pixels = job.out.bytes(kPixels);
  std::fill(pixels.begin(), pixels.end(), std::byte{0});
  job.out.Set(kLabel, source_.Label(job.id));
  job.out.Set(kId, static_cast<int64_t>(job.id));
  job.out.Set(kValid, uint8_t{0});
  if (device_finishes_) job.out.Set(kFlips, kBlank);
}

size_t SampleTask::scratch_bytes() const noexcept {
  size_t sum = 0;
  for (const auto& worker : workers_) sum += worker->scratch_bytes.load(std::memory_order_relaxed);
  return sum;
}

}  // namespace stoker
