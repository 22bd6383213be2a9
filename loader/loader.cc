#include "loader/loader.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cassert>

#include "loader/active_workers.h"
#include "loader/delivery.h"
#include "loader/error_policy.h"
#include "loader/feeder.h"
#include "loader/index/index_keeper.h"
#include "loader/machine/limits.h"
#include "loader/reporter.h"
#include "loader/sample_task.h"
#include "loader/sampler.h"
#include "loader/seams.h"
#include "loader/trace.h"
#include "loader/transfer_plan.h"
#include "loader/workers.h"
#include "transfer/nvtx.h"

namespace stoker {
namespace {

// How long Next sleeps at most before it looks whether the pipeline has failed.
constexpr std::chrono::milliseconds kPatience{100};

}  // namespace

// Declared downstream first, so that destruction stops the source of the work first and frees its memory last.
class Loader::Impl {
 public:
  Impl(LoaderOptions options, std::shared_ptr<const Source> source, LoaderSeams seams);
  ~Impl();

  void StartEpoch(uint64_t epoch, std::shared_ptr<const Order> order, uint64_t position,
                  const WhileWaiting& while_waiting);
  std::optional<Batch> Next(StreamHandle stream, const WhileWaiting& while_waiting);
  // *this; throws Error (kForked) in a child of fork().
  Impl& InItsProcess();
  Reporter& reporter() noexcept { return *reporter_; }
  void WriteTrace(const std::string& path) {
    delivery_->LogCopies(*log_);
    stoker::WriteTrace(*log_, *source_, static_cast<uint32_t>(options_.num_workers), now_(), path);
  }
  // Of an epoch in an order of the caller's, who alone knows when it is over.
  void EndEpoch() { EpochEnded(); }
  bool OverBudget() const {
    const size_t extra_bytes = delivery_->ring().extra_slots_peak() * plan_.slot_bytes;
    return extra_bytes > 0 && plan_.host_bytes() + extra_bytes > static_cast<size_t>(options_.memory_limit_bytes);
  }
  int64_t BatchesFrom(const Order& order, uint64_t position) const noexcept;

  // A child of fork() has none of the threads that it would have to join, nor read buffers.
  bool forked() const noexcept { return pid_ != 0 && pid_ != getpid(); }

  std::atomic<bool> cancelled_{false};  // a flag alone: orders nothing
  const bool auto_workers_;             // options_ has the most of them
  const LoaderOptions options_;
  const CompiledRecipe recipe_;
  const std::shared_ptr<const Order> own_order_;
  const NowFn now_;
  std::unique_ptr<Workers> workers_;
  std::optional<ActiveWorkers> active_workers_;

 private:
  void Begin(uint64_t epoch, std::shared_ptr<const Order> order, uint64_t position);
  void EpochEnded();
  void CheckUsable();
  void CheckSlots();
  Delivered Take(StreamHandle stream, const WhileWaiting& while_waiting);
  Delivered TakeForCaller(StreamHandle stream, const WhileWaiting& while_waiting);
  void DropUnderWay(const WhileWaiting& while_waiting);
  void LogHandOver(const Delivered& slot, StreamHandle stream);

  const std::shared_ptr<const Source> source_;
  const std::shared_ptr<WakeUp> wake_up_ = std::make_shared<WakeUp>();
  BufferPlan plan_;
  std::shared_ptr<Delivery> delivery_;
  std::unique_ptr<ReadBuffers> buffers_;
  std::unique_ptr<StallLog> log_;
  ErrorPolicy errors_;
  std::unique_ptr<IndexKeeper> index_;  // null: none
  std::unique_ptr<SampleTask> task_;
  std::unique_ptr<Feeder> feeder_;
  std::unique_ptr<Reporter> reporter_;
  pid_t pid_ = 0;  // that it was started in
  bool running_ = false;
  std::shared_ptr<const Order> order_;  // of the epoch under way
  uint64_t epoch_ = 0;                  // under way, or the next to begin
  uint64_t position_ = 0;               // of the next batch
  int64_t batches_left_ = 0;            // of the epoch under way
  int64_t next_batch_ = 0;              // the sequence number of the next batch to be taken
  int64_t last_handed_over_ = -1;
};

Loader::Impl::Impl(LoaderOptions options, std::shared_ptr<const Source> source, LoaderSeams seams)
    : auto_workers_(options.num_workers == kAutoWorkers),
      options_(Resolve(std::move(options), seams.most_workers)),
      recipe_(options_.recipe, options_.fixed_size),
      own_order_(MakeSampler(options_, source->size())),
      now_(seams.now),
      source_(std::move(source)),
      errors_(options_, source_) {
  TransferPlan transfer = PlanTransfer(options_, recipe_.spec(), std::move(seams.device));
  plan_ = PlanBuffers(options_, *source_, transfer);
  CheckMemory(plan_, options_);
  log_ = std::make_unique<StallLog>(static_cast<uint32_t>(options_.batch_size), plan_.batches_ahead);
  if (transfer.device != nullptr) pid_ = getpid();  // what it has made so far is nothing for a child either
  const Cause slot_freed_by = transfer.upload ? Cause::kCopy : Cause::kConsumer;
  const SampleSpec written = transfer.written;
  const bool device_finishes = transfer.finish.has_value();
  std::vector<int> near;
  if (transfer.device != nullptr && options_.near_device) near = CpusOfNode("/sys", transfer.device->info().numa_node);
  const auto wake = [wake_up = wake_up_] { wake_up->Signal(); };
  delivery_ = std::make_shared<Delivery>(std::move(transfer), plan_.slots, plan_.device_slots, now_, wake);
  const size_t spare = static_cast<size_t>(options_.memory_limit_bytes) - plan_.host_bytes();
  buffers_ = std::make_unique<ReadBuffers>(plan_.read_buffers, plan_.read_buffer_bytes, spare, now_, wake);
  if (options_.index != kNoIndex) index_ = std::make_unique<IndexKeeper>(*source_, options_.index, plan_.index_bytes);
  const auto workers = static_cast<uint32_t>(options_.num_workers);
  task_ = std::make_unique<SampleTask>(SampleTaskParts{
      options_, recipe_, written, device_finishes, *source_, *buffers_, *log_, errors_.samples(), now_,
      seams.thread_cpu_now, workers, std::move(seams.slow_decode), index_ != nullptr ? &index_->rows() : nullptr,
      [this](SampleJob job) { feeder_->Retry(std::move(job)); }});
  // Files in the page cache wait for a worker without a buffer, as many as there are buffers; the others hold one.
  workers_ = std::make_unique<Workers>(
      workers, 2 * plan_.read_buffers, [this](uint32_t worker, SampleJob job) { task_->Run(worker, std::move(job)); },
      plan_.read_buffers / 4, wake, std::move(near));
  feeder_ = std::make_unique<Feeder>(FeederParts{
      options_, *source_, delivery_->ring(), *buffers_, *task_, *workers_, *log_, *wake_up_, now_,
      delivery_->device() != nullptr, slot_freed_by,
      [this, make_reader = std::move(seams.make_reader)](const Reader::Options& reader_options, std::string& choice) {
        return make_reader(options_.reader, *source_, reader_options, choice);
      }});
  active_workers_.emplace(*log_, *workers_, options_.num_workers, auto_workers_, now_());
  reporter_ = std::make_unique<Reporter>(ReporterParts{options_, plan_, *log_, *delivery_, *feeder_, *buffers_, *task_,
                                                       *active_workers_, errors_, index_.get(), now_});
}

Loader::Impl::~Impl() {
  feeder_->Stop();
  workers_->Drain();
  delivery_->Stop();
  if (feeder_->abandoned()) buffers_->Abandon();
}

int64_t Loader::Impl::BatchesFrom(const Order& order, uint64_t position) const noexcept {
  const uint64_t left = order.positions() - position;
  const auto batch = static_cast<uint64_t>(options_.batch_size);
  return static_cast<int64_t>(options_.drop_last ? left / batch : (left + batch - 1) / batch);
}

Loader::Impl& Loader::Impl::InItsProcess() {
  if (!forked()) return *this;
  throw Error(LoadError::kForked, "next", "", -1,
              "this loader was started before the process was forked: make it in the child, or use spawn");
}

void Loader::Impl::CheckUsable() {
  InItsProcess();
  workers_->CheckThreads();
  if (cancelled_.load(std::memory_order_relaxed)) {
    throw Error(LoadError::kCancelled, "next", "", -1, "loading was cancelled");
  }
  const std::string fatal = feeder_->fatal();
  if (!fatal.empty()) throw Error(LoadError::kStopped, "read", "", -1, fatal);
}

void Loader::Impl::Begin(uint64_t epoch, std::shared_ptr<const Order> order, uint64_t position) {
  pid_ = getpid();
  buffers_->KeepFromChildren();
  order_ = std::move(order);
  epoch_ = epoch;
  position_ = position;
  batches_left_ = BatchesFrom(*order_, position);
  running_ = true;
  const Predecessor cause = {now_(), last_handed_over_, last_handed_over_ < 0 ? Cause::kNone : Cause::kConsumer};
  delivery_->Start();
  feeder_->Start(*order_, epoch, position, cause);
}

void Loader::Impl::EpochEnded() {
  reporter_->EpochEnded();
  if (index_ != nullptr) index_->EpochEnded();
}

// Stops the epoch under way and takes back every batch that it had begun.
void Loader::Impl::DropUnderWay(const WhileWaiting& while_waiting) {
  running_ = false;
  feeder_->Pause([&] {
    CheckUsable();
    if (while_waiting) while_waiting();
  });
  while (next_batch_ < delivery_->ring().leased_batches()) {
    const Delivered slot = Take(kHostStream, while_waiting);
    delivery_->Return(slot, kHostStream);
  }
  errors_.samples().Clear();
}

void Loader::Impl::StartEpoch(uint64_t epoch, std::shared_ptr<const Order> order, uint64_t position,
                              const WhileWaiting& while_waiting) {
  CheckUsable();
  if (position > order->positions()) {
    throw std::invalid_argument(
        fmt::format("position {} lies beyond the epoch: it has {} samples on this rank", position, order->positions()));
  }
  const bool broken_off = running_;
  DropUnderWay(while_waiting);
  if (broken_off) EpochEnded();
  Begin(epoch, std::move(order), position);
}

Delivered Loader::Impl::Take(StreamHandle stream, const WhileWaiting& while_waiting) {
  for (;;) {
    CheckUsable();
    std::error_code error;
    const Delivered slot = delivery_->Take(stream, kPatience, error);
    if (error) throw Error(error, "copy", "", -1, "copying a batch to the device failed: " + error.message());
    if (!slot) {
      reporter_->StillWaiting();
      if (while_waiting) while_waiting();
      continue;
    }
    next_batch_ = slot.batch + 1;
    return slot;
  }
}

Delivered Loader::Impl::TakeForCaller(StreamHandle stream, const WhileWaiting& while_waiting) {
  struct Wait {
    Reporter& reporter;
    ~Wait() { reporter.EndWait(); }
  } wait{*reporter_};
  return Take(stream, while_waiting);
}

void Loader::Impl::LogHandOver(const Delivered& slot, StreamHandle stream) {
  BatchRecord record;
  record.batch = slot.batch;
  record.count = slot.count;
  record.stamps = delivery_->StampsOf(slot);
  record.returned_ns = now_();
  record.to_stream = slot.device != nullptr && stream != kHostStream;
  log_->HandOver(record);
  last_handed_over_ = slot.batch;
  active_workers_->BatchGiven(slot.batch, record.returned_ns);
  reporter_->BatchGiven(record.returned_ns);
}

// A caller that holds every batch would wait for itself.
void Loader::Impl::CheckSlots() {
  const bool extend = options_.grow_slots && delivery_->prefetcher() == nullptr;
  if (extend) return delivery_->ring().Extend();
  if (delivery_->held_by_caller() < delivery_->slots_for_caller()) return;
  throw Error(LoadError::kAllSlotsHeld, "next", "", -1,
              fmt::format("the caller holds all {} batches, so no other can be loaded: let go of some (copy what is "
                          "to be kept), or raise prefetch_factor",
                          delivery_->slots_for_caller()));
}

std::optional<Batch> Loader::Impl::Next(StreamHandle stream, const WhileWaiting& while_waiting) {
  CheckUsable();
  delivery_->LogCopies(*log_);
  log_->Request(now_());
  if (!running_) {
    DropUnderWay(while_waiting);
    Begin(epoch_, own_order_, 0);
  }
  if (batches_left_ == 0) {
    running_ = false;
    ++epoch_;
    log_->EndWait();
    if (order_ == own_order_) EpochEnded();
    return std::nullopt;
  }
  CheckSlots();
  const NvtxRange range(NvtxName::kNext);
  const Delivered slot = TakeForCaller(stream, while_waiting);
  // A lease from here on, so that an exception gives the slot back.
  Batch batch(delivery_, source_, slot, recipe_.spec(), epoch_, position_, stream);
  position_ += slot.count;
  --batches_left_;
  LogHandOver(slot, stream);
  errors_.Judge(slot.batch);
  return batch;
}

Loader::Loader(LoaderOptions options, std::shared_ptr<const Source> source)
    : Loader(std::move(options), std::move(source), LoaderSeams{}) {}

Loader::Loader(LoaderOptions options, std::shared_ptr<const Source> source, LoaderSeams seams)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(source), std::move(seams))) {}

Loader::~Loader() {
  if (impl_ != nullptr && impl_->forked()) (void)impl_.release();
}

void Loader::StartEpoch(uint64_t epoch, uint64_t position, const WhileWaiting& while_waiting) {
  impl_->StartEpoch(epoch, impl_->own_order_, position, while_waiting);
}
void Loader::StartEpoch(uint64_t epoch, std::shared_ptr<const Order> order, uint64_t position,
                        const WhileWaiting& while_waiting) {
  impl_->StartEpoch(epoch, std::move(order), position, while_waiting);
}
std::optional<Batch> Loader::Next(StreamHandle stream, const WhileWaiting& while_waiting) {
  return impl_->Next(stream, while_waiting);
}
int64_t Loader::batches_per_epoch() const noexcept { return impl_->BatchesFrom(*impl_->own_order_, 0); }
int64_t Loader::samples_per_epoch() const noexcept {
  const auto positions = static_cast<int64_t>(impl_->own_order_->positions());
  return impl_->options_.drop_last ? batches_per_epoch() * impl_->options_.batch_size : positions;
}
const LoaderOptions& Loader::options() const noexcept { return impl_->options_; }
const SampleSpec& Loader::spec() const noexcept { return impl_->recipe_.spec(); }
void Loader::Cancel() noexcept { impl_->cancelled_.store(true, std::memory_order_relaxed); }
StallReport Loader::Report() { return impl_->InItsProcess().reporter().Report(); }
bool Loader::OverBudget() const { return impl_->InItsProcess().OverBudget(); }
void Loader::RestartReport() { impl_->InItsProcess().reporter().Restart(); }
void Loader::EndEpoch() { impl_->InItsProcess().EndEpoch(); }
void Loader::WriteTrace(const std::string& path) { impl_->InItsProcess().WriteTrace(path); }

void Loader::SetActiveWorkers(int32_t workers) { impl_->InItsProcess().active_workers_->Set(workers, impl_->now_()); }
int32_t Loader::active_workers() const { return impl_->InItsProcess().active_workers_->active(); }

}  // namespace stoker
