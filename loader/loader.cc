#include "loader/loader.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <unordered_set>

#include "loader/bad_samples.h"
#include "loader/delivery.h"
#include "loader/feeder.h"
#include "loader/sample_task.h"
#include "loader/sampler.h"
#include "loader/seams.h"
#include "loader/workers.h"
#include "transfer/sim_device.h"

namespace stoker {
namespace {

// How long Next sleeps at most before it looks whether the pipeline has failed.
constexpr std::chrono::milliseconds kPatience{100};
// The share of the free memory that buffers may take where no limit is given, as a divisor.
constexpr int64_t kDefaultMemoryShare = 4;

LoaderOptions Resolved(LoaderOptions options) {
  Validate(options);
  if (options.num_workers < 0) options.num_workers = DefaultWorkers();
  if (options.memory_limit_bytes == 0) options.memory_limit_bytes = AvailableMemoryBytes() / kDefaultMemoryShare;
  return options;
}

SlotLayout LayoutFor(const LoaderOptions& options, const SampleSpec& spec) {
  std::vector<SlotField> fields(4);
  fields[kPixels] = {"pixels", spec.bytes(), 0};
  fields[kLabel] = {"label", sizeof(int64_t), 0};
  fields[kId] = {"id", sizeof(int64_t), 0};
  fields[kValid] = {"valid", sizeof(uint8_t), 0};
  return SlotLayout(static_cast<uint32_t>(options.batch_size), std::move(fields));
}

std::unique_ptr<Device> MakeDevice(DeviceKind kind) { return kind == DeviceKind::kSim ? MakeSimDevice() : nullptr; }

}  // namespace

// Declared downstream first, so that destruction stops the source of the work first and frees its memory last.
class Loader::Impl {
 public:
  Impl(LoaderOptions options, std::unique_ptr<Source> source, LoaderSeams seams);
  ~Impl();

  void StartEpoch(uint64_t epoch, uint64_t position);
  std::optional<Batch> Next(StreamHandle stream);
  StallReport Report();
  int64_t batches_per_epoch() const noexcept { return static_cast<int64_t>(BatchesFrom(0)); }

  // A child of fork() has none of the threads that it would have to join.
  bool forked() const noexcept { return pid_ != 0 && pid_ != getpid(); }

  std::atomic<bool> cancelled_{false};  // a flag alone: orders nothing
  const LoaderOptions options_;
  const CompiledRecipe recipe_;
  const Sampler sampler_;
  std::unique_ptr<Workers> workers_;

 private:
  uint64_t BatchesFrom(uint64_t position) const noexcept;
  void Begin(uint64_t epoch, uint64_t position);
  void CheckUsable() const;
  Delivered Take(StreamHandle stream);
  void DropUnderWay();
  void LogHandOver(const Delivered& slot);
  // Notes what went wrong with a batch's samples; throws where the policy says so.
  void JudgeErrors(int64_t batch);
  [[noreturn]] void Throw(const BadSample& bad, const std::string& remedy) const;

  const NowFn now_;
  const std::shared_ptr<const Source> source_;
  const std::shared_ptr<WakeUp> wake_up_ = std::make_shared<WakeUp>();
  BufferPlan plan_;
  std::shared_ptr<Delivery> delivery_;
  std::unique_ptr<ReadBuffers> buffers_;
  std::unique_ptr<StallLog> log_;
  BadSamples bad_;
  std::unique_ptr<SampleTask> task_;
  std::unique_ptr<Feeder> feeder_;

  pid_t pid_ = 0;
  bool running_ = false;
  uint64_t epoch_ = 0;         // under way, or the next to begin
  uint64_t position_ = 0;      // of the next batch
  uint64_t batches_left_ = 0;  // of the epoch under way
  int64_t next_batch_ = 0;     // the sequence number of the next batch to be taken
  int64_t last_handed_over_ = -1;
  std::unordered_set<uint64_t> bad_ids_;
  std::vector<SkippedSample> skipped_;
};

Loader::Impl::Impl(LoaderOptions options, std::unique_ptr<Source> source, LoaderSeams seams)
    : options_(Resolved(std::move(options))),
      recipe_(options_.recipe, options_.fixed_size),
      sampler_({.size = source->size(),
                .shuffle = options_.shuffle,
                .seed = options_.seed,
                .rank = options_.rank,
                .world_size = options_.world_size,
                .drop_last = options_.drop_last}),
      now_(seams.now),
      source_(std::move(source)) {
  std::unique_ptr<Device> device = seams.device ? std::move(seams.device) : MakeDevice(options_.device);
  SlotLayout layout = LayoutFor(options_, recipe_.spec());
  plan_ = PlanBuffers(options_, *source_, layout.bytes(), device != nullptr);
  log_ = std::make_unique<StallLog>(static_cast<uint32_t>(options_.batch_size), plan_.slots + plan_.device_slots + 1);
  plan_.stall_log_bytes = log_->bytes();
  CheckMemory(plan_, options_);

  const Cause slot_freed_by = device != nullptr ? Cause::kCopy : Cause::kConsumer;
  const auto wake = [wake_up = wake_up_] { wake_up->Signal(); };
  delivery_ =
      std::make_shared<Delivery>(std::move(layout), plan_.slots, std::move(device), plan_.device_slots, now_, wake);
  const size_t spare = static_cast<size_t>(options_.memory_limit_bytes) - plan_.host_bytes();
  buffers_ = std::make_unique<ReadBuffers>(plan_.read_buffers, plan_.read_buffer_bytes, spare, now_, wake);
  const auto workers = static_cast<uint32_t>(options_.num_workers);
  task_ = std::make_unique<SampleTask>(options_, recipe_, *source_, *buffers_, *log_, bad_, now_, workers,
                                       [this](SampleJob job) { feeder_->Retry(std::move(job)); });
  // Files in the page cache wait for a worker without a buffer, as many as there are buffers; the others hold one.
  workers_ = std::make_unique<Workers>(
      workers, 2 * plan_.read_buffers, [this](uint32_t worker, SampleJob job) { task_->Run(worker, std::move(job)); },
      plan_.read_buffers / 4, wake);
  feeder_ = std::make_unique<Feeder>(FeederParts{
      options_, *source_, sampler_, delivery_->ring(), *buffers_, *task_, *workers_, *log_, *wake_up_, now_,
      slot_freed_by,
      [this, make_reader = std::move(seams.make_reader)](const Reader::Options& reader_options, std::string& choice) {
        return make_reader(options_.reader, *source_, reader_options, choice);
      }});
}

Loader::Impl::~Impl() {
  feeder_->Stop();
  workers_->Drain();
  delivery_->Stop();
  if (feeder_->abandoned()) buffers_->Abandon();
}

uint64_t Loader::Impl::BatchesFrom(uint64_t position) const noexcept {
  const uint64_t left = sampler_.positions() - position;
  const auto batch = static_cast<uint64_t>(options_.batch_size);
  return options_.drop_last ? left / batch : (left + batch - 1) / batch;
}

void Loader::Impl::CheckUsable() const {
  if (forked()) {
    throw Error(LoadError::kForked, "next", "", -1,
                "this loader was started before the process was forked: make it in the child, or use spawn");
  }
  if (cancelled_.load(std::memory_order_relaxed)) {
    throw Error(LoadError::kCancelled, "next", "", -1, "loading was cancelled");
  }
  const std::string fatal = feeder_->fatal();
  if (!fatal.empty()) throw Error(LoadError::kStopped, "read", "", -1, fatal);
}

void Loader::Impl::Begin(uint64_t epoch, uint64_t position) {
  pid_ = getpid();
  epoch_ = epoch;
  position_ = position;
  batches_left_ = BatchesFrom(position);
  running_ = true;
  const Predecessor cause = {now_(), last_handed_over_, last_handed_over_ < 0 ? Cause::kNone : Cause::kConsumer};
  delivery_->Start();
  feeder_->Start(epoch, position, cause);
}

// Stops the epoch under way and takes back every batch that it had begun.
void Loader::Impl::DropUnderWay() {
  feeder_->Pause();
  while (next_batch_ < delivery_->ring().leased_batches()) {
    const Delivered slot = Take(kHostStream);
    delivery_->Return(slot, kHostStream);
  }
  bad_.Clear();
}

void Loader::Impl::StartEpoch(uint64_t epoch, uint64_t position) {
  CheckUsable();
  if (position > sampler_.positions()) {
    throw std::invalid_argument(fmt::format("position {} lies beyond the epoch: it has {} samples on this rank",
                                            position, sampler_.positions()));
  }
  DropUnderWay();
  Begin(epoch, position);
}

Delivered Loader::Impl::Take(StreamHandle stream) {
  for (;;) {
    CheckUsable();
    std::error_code error;
    const Delivered slot = delivery_->Take(stream, kPatience, error);
    if (error) throw Error(error, "copy", "", -1, "copying a batch to the device failed: " + error.message());
    if (!slot) continue;
    next_batch_ = slot.batch + 1;
    return slot;
  }
}

void Loader::Impl::LogHandOver(const Delivered& slot) {
  BatchRecord record;
  record.batch = slot.batch;
  record.count = slot.count;
  record.stamps = delivery_->StampsOf(slot);
  record.returned_ns = now_();
  log_->HandOver(record);
  last_handed_over_ = slot.batch;
}

std::optional<Batch> Loader::Impl::Next(StreamHandle stream) {
  CheckUsable();
  log_->Request(now_());
  if (!running_) {
    feeder_->Pause();
    Begin(epoch_, 0);
  }
  if (batches_left_ == 0) {
    running_ = false;
    ++epoch_;
    return std::nullopt;
  }
  if (delivery_->held_by_caller() == delivery_->slots_for_caller()) {
    throw Error(LoadError::kAllSlotsHeld, "next", "", -1,
                fmt::format("the caller holds all {} batches, so no other can be loaded: let go of some (copy what is "
                            "to be kept), or raise prefetch_factor",
                            delivery_->slots_for_caller()));
  }
  const Delivered slot = Take(stream);
  // A lease from here on, so that an exception gives the slot back.
  Batch batch(delivery_, source_, slot, recipe_.spec(), epoch_, position_, stream);
  position_ += slot.count;
  --batches_left_;
  LogHandOver(slot);
  JudgeErrors(slot.batch);
  return batch;
}

void Loader::Impl::Throw(const BadSample& bad, const std::string& remedy) const {
  const std::string name = source_->Name(bad.id);
  const bool read = bad.error.category() != decode_category();
  throw Error(bad.error, read ? "read" : "decode", name, bad.diagnosis.offset_bytes,
              fmt::format("{}: {}{}", name, ReasonOf(bad.error, bad.diagnosis), remedy));
}

void Loader::Impl::JudgeErrors(int64_t batch) {
  for (const BadSample& bad : bad_.Take(batch)) {
    if (bad.error == LoadError::kNoGoodSample) Throw(bad, "; the error of each is in the report");
    if (bad_ids_.insert(bad.id).second && skipped_.size() < StallReport::kMaxSkippedNames) {
      skipped_.push_back({bad.id, source_->Name(bad.id), ReasonOf(bad.error, bad.diagnosis)});
    }
    if (options_.on_error == OnError::kRaise) Throw(bad, "; on_error=skip or mask goes on without it");
    if (options_.max_errors >= 0 && bad_ids_.size() > static_cast<size_t>(options_.max_errors)) {
      throw Error(LoadError::kTooManyErrors, "decode", skipped_.back().name, -1,
                  fmt::format("{} bad samples are more than max_errors = {}; the last one: {}: {}", bad_ids_.size(),
                              options_.max_errors, skipped_.back().name, skipped_.back().reason));
    }
  }
}

StallReport Loader::Impl::Report() {
  StallReport report;
  const bool cached_first = options_.reader == ReaderKind::kAuto;
  const StallTotals& totals = log_->Totals(now_());
  const bool all_cached = cached_first && totals.samples > 0 && totals.cached_reads == totals.samples;
  Judge(totals,
        {.readers = static_cast<double>(all_cached ? std::max(options_.num_workers, 1) : options_.queue_depth),
         .workers = static_cast<double>(std::max(options_.num_workers, 1))},
        report);
  report.reader = feeder_->reader_choice();
  report.device = delivery_->device() != nullptr ? delivery_->device()->name() : "cpu";
  report.pinned = delivery_->prefetcher() == nullptr || delivery_->prefetcher()->pinned();
  report.workers = options_.num_workers;
  report.empties = delivery_->ring().empties();
  report.cached_known = cached_first;
  report.buffers = plan_;
  report.scratch_bytes = task_->scratch_bytes();
  report.budget_bytes = plan_.host_bytes() + report.scratch_bytes;
  report.oversized_bytes_peak = buffers_->oversized_bytes_peak();
  report.decoder_warnings = bad_.warnings();
  report.skipped_count = static_cast<int64_t>(bad_ids_.size());
  report.skipped = skipped_;
  report.abandoned = feeder_->abandoned();
  return report;
}

Loader::Loader(LoaderOptions options, std::unique_ptr<Source> source)
    : Loader(std::move(options), std::move(source), LoaderSeams{}) {}

Loader::Loader(LoaderOptions options, std::unique_ptr<Source> source, LoaderSeams seams)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(source), std::move(seams))) {}

Loader::~Loader() {
  if (impl_ != nullptr && impl_->forked()) (void)impl_.release();
}

void Loader::StartEpoch(uint64_t epoch, uint64_t position) { impl_->StartEpoch(epoch, position); }
std::optional<Batch> Loader::Next(StreamHandle stream) { return impl_->Next(stream); }
int64_t Loader::batches_per_epoch() const noexcept { return impl_->batches_per_epoch(); }
int64_t Loader::samples_per_epoch() const noexcept {
  const auto positions = static_cast<int64_t>(impl_->sampler_.positions());
  return impl_->options_.drop_last ? batches_per_epoch() * impl_->options_.batch_size : positions;
}
const LoaderOptions& Loader::options() const noexcept { return impl_->options_; }
const SampleSpec& Loader::spec() const noexcept { return impl_->recipe_.spec(); }
void Loader::Cancel() noexcept { impl_->cancelled_.store(true, std::memory_order_relaxed); }
StallReport Loader::Report() { return impl_->Report(); }

void Loader::SetActiveWorkers(int32_t workers) {
  if (workers < 1 || workers > impl_->options_.num_workers) {
    throw std::invalid_argument(
        fmt::format("active workers: {} (allowed: 1 to num_workers = {})", workers, impl_->options_.num_workers));
  }
  impl_->workers_->SetActive(static_cast<uint32_t>(workers));
}

}  // namespace stoker
