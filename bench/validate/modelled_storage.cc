#include "bench/validate/modelled_storage.h"

#include <algorithm>
#include <utility>

#include "transfer/mutex.h"

namespace stoker {
namespace {

class ModelledReader final : public Reader {
 public:
  ModelledReader(const OnePicture& source, const StorageModel& model, const Options& options)
      : source_(source), model_(model), options_(options) {}

  std::string_view name() const noexcept override { return "modelled"; }
  bool has_room() const noexcept override { return reads_.size() < options_.queue_depth; }
  uint32_t in_flight() const noexcept override { return static_cast<uint32_t>(reads_.size()); }

  void Submit(SampleJob job) noexcept override {
    const int64_t now = options_.now();
    // The bytes of one read after the other; what else a read waits for, beside the others.
    line_free_ns_ = std::max(line_free_ns_, now) + model_.bandwidth.Draw(model_.seed, kBandwidthDice, job.sequence);
    const int64_t end_ns = line_free_ns_ + model_.latency.Draw(model_.seed, kReadDice, job.sequence);
    std::ranges::copy(source_.picture(), job.encoded.memory().begin());
    job.encoded_bytes = source_.picture().size();
    reads_.push_back({end_ns, std::move(job)});
    std::ranges::push_heap(reads_, Later);
  }

  void Wait(std::vector<SampleJob>& done, std::chrono::nanoseconds timeout) noexcept override {
    const int64_t deadline_ns = options_.now() + timeout.count();
    MutexLock lock(mutex_);
    for (;;) {
      const int64_t now = options_.now();
      const size_t before = done.size();
      while (!reads_.empty() && reads_.front().end_ns <= now) {
        std::ranges::pop_heap(reads_, Later);
        reads_.back().job.late_ns = now - reads_.back().end_ns;
        done.push_back(std::move(reads_.back().job));
        reads_.pop_back();
      }
      if (std::exchange(woken_, false) || done.size() > before || now >= deadline_ns) return;
      const int64_t until_ns = reads_.empty() ? deadline_ns : std::min(deadline_ns, reads_.front().end_ns);
      changed_.WaitFor(mutex_, std::chrono::nanoseconds(until_ns - now));
    }
  }

  void Wake() noexcept override {
    MutexLock lock(mutex_);
    woken_ = true;
    changed_.NotifyAll();
  }

 private:
  struct Read {
    int64_t end_ns = 0;
    SampleJob job;
  };
  static bool Later(const Read& a, const Read& b) { return a.end_ns > b.end_ns; }

  const OnePicture& source_;
  const StorageModel model_;
  const Options options_;
  std::vector<Read> reads_;  // feeder thread only, as is the next; a heap, the next to end in front
  int64_t line_free_ns_ = 0;
  Mutex mutex_;
  CondVar changed_;
  bool woken_ GUARDED_BY(mutex_) = false;
};

}  // namespace

std::unique_ptr<Reader> MakeModelledReader(const OnePicture& source, const StorageModel& model,
                                           const Reader::Options& options) {
  return std::make_unique<ModelledReader>(source, model, options);
}

}  // namespace stoker
