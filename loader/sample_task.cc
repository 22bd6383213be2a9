#include "loader/sample_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "loader/error.h"
#include "loader/reader.h"
#include "loader/transfer_plan.h"
#include "transfer/finish_launch.h"
#include "transfer/nvtx.h"

namespace stoker {
namespace {

// Larger pictures than this (21 million pixels in colour) get scratch memory as their crops need it.
constexpr size_t kMaxReservedBytes = size_t{64} << 20;

// One sample in so many has its CPU time asked for: that costs as much as fifty looks at the clock.
constexpr int64_t kSamplesAClocked = 16;

// What the kernel is to do, so that the augmenter does not.
uint8_t TakeFlips(Plan& plan) {
  const int horizontal = std::exchange(plan.flip_horizontal, false) ? kFlipHorizontal : 0;
  const int vertical = std::exchange(plan.flip_vertical, false) ? kFlipVertical : 0;
  return static_cast<uint8_t>(horizontal | vertical);
}

}  // namespace

SampleTask::SampleTask(SampleTaskParts parts) : parts_(std::move(parts)) {
  for (uint32_t i = 0; i < std::max(parts_.workers, 1u); ++i) {
    workers_.push_back(std::make_unique<Worker>(parts_.options.limits, parts_.written));
  }
}

DecodeRequest SampleTask::RequestFor(const Plan& plan) const noexcept {
  DecodeRequest request;
  request.region = plan.region;
  request.channels = parts_.recipe.recipe().channels;
  if (parts_.options.decode == DecodeMode::kFast) request.at_least = plan.region_at_least;
  return request;
}

std::error_code SampleTask::MakePlanFor(SampleJob& job, ImageSize size) const noexcept {
  const PlanError error = MakePlan(parts_.recipe, size, job.key, job.plan);
  job.planned = error == PlanError::kNone;
  if (job.planned) return {};
  const ImageSize wanted = parts_.recipe.spec().size;
  char words[sizeof job.diagnosis.detail] = {};
  const char* const verdict =
      error == PlanError::kTooSmall ? "too small for a crop on the way to" : "which does not come out at the batch's";
  const auto end = fmt::format_to_n(words, sizeof words - 1, "the picture is {}x{}, {} {}x{}", size.width, size.height,
                                    verdict, wanted.width, wanted.height);
  job.diagnosis.Say({words, std::min(end.size, sizeof words - 1)});
  return error == PlanError::kTooSmall ? LoadError::kTooSmallForCrop : LoadError::kWrongSize;
}

void SampleTask::GrowWith(Worker& worker, ImageSize picture) noexcept {
  const size_t bytes = Image::BytesFor(picture, static_cast<int32_t>(parts_.recipe.recipe().channels));
  size_t largest = largest_bytes_.load(std::memory_order_relaxed);
  while (bytes <= kMaxReservedBytes && bytes > largest &&
         !largest_bytes_.compare_exchange_weak(largest, bytes, std::memory_order_relaxed)) {
  }
  // So memory stops growing when every picture was met once by any worker, not by each of them.
  worker.image.Reserve(largest_bytes_.load(std::memory_order_relaxed));
}

std::error_code SampleTask::Decode(Worker& worker, std::span<const uint8_t> bytes, SampleJob& job,
                                   RegionBox& box) const noexcept {
  DecodeRequest request = RequestFor(job.plan);
  if (parts_.index != nullptr) {
    parts_.index->Find(job.id, worker.marks);
    request.marks = &worker.marks;
  }
  const std::error_code error = worker.decoder.Decode(bytes, request, worker.image, box, job.diagnosis);
  if (!error && parts_.index != nullptr && worker.marks.grew()) parts_.index->Learn(job.id, worker.marks);
  return error;
}

void SampleTask::Process(Worker& worker, SampleJob& job, SampleRecord* record) noexcept {
  const std::span<const uint8_t> bytes = job.encoded.memory().first(job.encoded_bytes);
  ImageSize size;
  RegionBox box;
  {
    const NvtxRange decoding(NvtxName::kDecode);
    if (!job.planned) {
      job.error = worker.decoder.Peek(bytes, size, job.diagnosis);
      if (!job.error) job.error = MakePlanFor(job, size);
      if (job.error) return;
    }
    if (parts_.slow_decode) parts_.slow_decode(job);
    job.error = Decode(worker, bytes, job, box);
  }
  if (record != nullptr && job.attempt == 0) record->decoded_ns = parts_.now();
  if (job.error) return;
  worker.decoded[static_cast<size_t>(job.diagnosis.jpeg_path)].fetch_add(1, std::memory_order_relaxed);
  const NvtxRange augmenting(NvtxName::kAugment);
  // The encoded bytes are not needed any more: the next read may have their buffer while this sample is augmented.
  job.encoded.ReleaseBy(job.sequence);
  if (parts_.device_finishes) job.out.Set(kFlips, TakeFlips(job.plan));
  if (!worker.augmenter.Run(worker.image.view(), {box.x0, box.y0, box.x1, box.y1}, job.plan, job.out.bytes(kPixels))) {
    job.error = LoadError::kNoMemory;
  }
  if (size != ImageSize{}) GrowWith(worker, size);
}

bool SampleTask::ReadFromCache(Worker& worker, SampleJob& job, SampleRecord* record) noexcept {
  if (record != nullptr && job.attempt == 0) {
    record->submit_ns = parts_.now();
    record->before_read.Consider(worker.last);
  }
  // The buffer freed last is the one that this worker has just decoded from: still in its cache. Where none is free, or
  // the file is not all in the page cache after all, the feeder sees to it.
  const bool leased = parts_.buffers.TryLease(job.extents.bytes() + 1, job.encoded) == ReadBuffers::Outcome::kLeased;
  if (!leased || !ReadCached(parts_.source, parts_.now, job)) {
    job.encoded.ReleaseBy(
        job.sequence);  // as in Fail: what waits for the feeder must not hold what the feeder waits for
    job.from_cache = false;
    job.evicted = true;
    parts_.retry(std::move(job));
    return false;
  }
  if (record != nullptr) {
    if (job.attempt == 0) {
      record->arrive_ns = parts_.now();
      record->opened_ns = job.opened_ns;
      record->cached = true;
    }
    record->bytes += job.encoded_bytes;
  }
  return true;
}

void SampleTask::StampStart(const Worker& worker, const SampleJob& job, SampleRecord& record) const noexcept {
  // A replacement goes on with the record of the sample whose place it takes, so that times never run backwards on the
  // path: what the first attempt freed was freed after the recorded start.
  if (job.attempt > 0) return;
  record.start_ns = record.decoded_ns = job.from_cache ? record.arrive_ns : parts_.now();
  record.before_decode = {record.arrive_ns, job.sequence, Cause::kRead};
  record.before_decode.Consider(worker.last);
}

void SampleTask::StampEnd(Worker& worker, SampleRecord& record) const noexcept {
  record.end_ns = parts_.now();
  worker.last = {record.end_ns, record.sequence, Cause::kDecode};
}

void SampleTask::Run(uint32_t number, SampleJob job) noexcept {
  Worker& worker = *workers_[number];
  SampleRecord* record = kCountersOn ? &parts_.log.sample(job.sequence) : nullptr;
  if (job.from_cache && !ReadFromCache(worker, job, record)) return;
  const bool clocked = record != nullptr && job.attempt == 0 && job.sequence % kSamplesAClocked == 0;
  const int64_t on_cpu_before_ns = clocked ? parts_.thread_cpu_now() : 0;
  if (record != nullptr) {
    record->worker = static_cast<uint16_t>(number);
    record->id = static_cast<uint32_t>(job.id);
    StampStart(worker, job, *record);
  }
  if (!job.error) Process(worker, job, record);
  if (record != nullptr) {
    StampEnd(worker, *record);
    record->on_cpu_ns = clocked ? parts_.thread_cpu_now() - on_cpu_before_ns : -1;
  }
  worker.scratch_bytes.store(worker.decoder.scratch_bytes() + worker.augmenter.scratch_bytes() +
                                 worker.image.capacity_bytes() + worker.marks.capacity_bytes(),
                             std::memory_order_relaxed);
  if (job.error) return Fail(std::move(job));
  if (job.diagnosis.warnings > 0) parts_.bad.CountWarning();
  job.out.Set(kLabel, parts_.source.Label(job.id));
  job.out.Set(kId, static_cast<int64_t>(job.id));
  job.out.Set(kValid, uint8_t{1});
  job.out.Release();
}

void SampleTask::Fail(SampleJob job) noexcept {
  // Given back first: what goes back to the feeder holds no buffer, so waiting for one cannot become a circle.
  job.encoded.ReleaseBy(job.sequence);
  parts_.bad.Add({job.out.batch(), job.position, job.attempt, job.id, job.error, job.diagnosis});
  if (parts_.options.on_error == OnError::kSkip && job.error != LoadError::kNoGoodSample)
    return parts_.retry(std::move(job));
  // Under kRaise the batch is never shown; zeros keep its bytes a function of the seed all the same.
  const std::span<std::byte> pixels = job.out.bytes(kPixels);
  std::fill(pixels.begin(), pixels.end(), std::byte{0});
  job.out.Set(kLabel, parts_.source.Label(job.id));
  job.out.Set(kId, static_cast<int64_t>(job.id));
  job.out.Set(kValid, uint8_t{0});
  if (parts_.device_finishes) job.out.Set(kFlips, kBlank);
}

size_t SampleTask::scratch_bytes() const noexcept {
  size_t sum = 0;
  for (const auto& worker : workers_) sum += worker->scratch_bytes.load(std::memory_order_relaxed);
  return sum;
}

std::array<uint64_t, kJpegPaths> SampleTask::decoded() const noexcept {
  std::array<uint64_t, kJpegPaths> sums = {};
  for (const auto& worker : workers_) {
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += worker->decoded[i].load(std::memory_order_relaxed);
  }
  return sums;
}

}  // namespace stoker
