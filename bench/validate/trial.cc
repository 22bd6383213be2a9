#include "bench/validate/trial.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "bench/picture_encoder.h"
#include "bench/validate/modelled_storage.h"
#include "loader/loader.h"
#include "loader/seams.h"
#include "loader/transfer_plan.h"

namespace stoker {
namespace {

// Of the copy's time, what a link needs before the first byte.
constexpr double kLatencyShare = 0.02;

double SpeedOf(const TrialConfig& config, Stage stage) { return config.speed[static_cast<size_t>(stage)]; }

int64_t Faster(int64_t ns, double speed) { return static_cast<int64_t>(static_cast<double>(ns) / speed); }

void Check(std::error_code error) {
  if (error) throw std::system_error(error, "simulated device");
}

LoaderOptions OptionsFor(const TrialConfig& config) {
  LoaderOptions options;
  options.batch_size = config.batch_size;
  options.recipe = TrainRecipe(kSmallSide, ElementType::kUint8);
  options.shuffle = false;
  options.num_workers = config.workers;
  options.queue_depth = config.queue_depth;
  options.prefetch_factor = config.prefetch_factor;
  options.reader = ReaderKind::kPread;  // any that does not look into the page cache
  options.device = "cpu";
  options.report_every = 0;
  return options;
}

// A device whose copies of these batches take config.copy_ns.
SimOptions LinkFor(const TrialConfig& config, SimMode mode) {
  const LoaderOptions options = OptionsFor(config);
  const TransferPlan plan = PlanTransfer(options, CompiledRecipe(options.recipe).spec(), MakeSimDevice());
  const double copy_ns = config.copy_ns / SpeedOf(config, Stage::kCopy);
  const double latency_ns = copy_ns * (config.copy_waits ? 1 - kLatencyShare : kLatencyShare);
  SimOptions link;
  link.mode = mode;
  link.latency_ns = static_cast<int64_t>(latency_ns);
  link.bytes_per_second = static_cast<double>(plan.layout.bytes()) * 1e9 / (copy_ns - latency_ns);
  return link;
}

// The caller's side of the device: a stream with work of a given length, on an engine of its own or on the link.
class DeviceWork {
 public:
  DeviceWork(SimDevice& device, const SimOptions& link, double longest_ns)
      : device_(device), link_(link), host_(BytesFor(longest_ns)) {
    const DeviceScope scope(device_);
    Check(scope.error());
    Check(device_.CreateStream(stream_));
    Check(device_.CreateStream(link_stream_));
    Check(device_.RegisterHost(host_.data(), host_.size()));
    Check(device_.Allocate(host_.size(), memory_));
  }
  ~DeviceWork() {
    const DeviceScope scope(device_);
    (void)device_.SynchronizeStream(stream_);
    (void)device_.SynchronizeStream(link_stream_);
    (void)device_.Free(memory_);
    (void)device_.UnregisterHost(host_.data());
    (void)device_.DestroyStream(link_stream_);
    (void)device_.DestroyStream(stream_);
  }
  DeviceWork(const DeviceWork&) = delete;
  DeviceWork& operator=(const DeviceWork&) = delete;

  StreamHandle stream() const { return stream_; }
  // A step that takes so long once the stream comes to it.
  void Step(double ns) {
    const DeviceScope scope(device_);
    Check(device_.CopyToHostAsync(host_.data(), memory_, std::min(BytesFor(ns), host_.size()), stream_));
  }
  // Something else that goes over the link to the device meanwhile.
  void Copy(double ns) {
    const DeviceScope scope(device_);
    Check(device_.CopyToDeviceAsync(memory_, host_.data(), std::min(BytesFor(ns), host_.size()), link_stream_));
  }

 private:
  size_t BytesFor(double ns) const {
    return static_cast<size_t>(
        std::max(1.0, (ns - static_cast<double>(link_.latency_ns)) * link_.bytes_per_second / 1e9));
  }

  SimDevice& device_;
  const SimOptions link_;
  std::vector<std::byte> host_;
  void* memory_ = nullptr;
  StreamHandle stream_ = 0, link_stream_ = 0;
};

// Told times against those that it took.
class Punctuality {
 public:
  void Add(int64_t told_ns, int64_t took_ns) {
    told_ns_ += told_ns;
    took_ns_ += took_ns;
  }
  double late() const { return told_ns_ == 0 ? 0 : static_cast<double>(took_ns_) / static_cast<double>(told_ns_) - 1; }

 private:
  std::atomic<int64_t> told_ns_{0}, took_ns_{0};  // by several workers
};

class Trial {
 public:
  Trial(const TrialConfig& config, const TrialClock& clock) : config_(config), clock_(clock) {
    // More than are taken, so that the loader works ahead to the end.
    const int64_t batches = config.warm_up + config.batches + int64_t{2} * config.prefetch_factor + 4;
    source_ = std::make_shared<OnePicture>(SmallPicture(), static_cast<uint64_t>(batches * config.batch_size));
    LoaderSeams seams;
    seams.now = clock.now;
    seams.thread_cpu_now = clock.thread_cpu_now;
    seams.most_workers = [most = config.most_workers] { return most; };
    seams.make_reader = [this](ReaderKind, const Source&, const Reader::Options& options, std::string& choice) {
      choice = "modelled";
      return MakeModelledReader(*source_, StorageFor(config_), options);
    };
    seams.slow_decode = [this](const SampleJob& job) { Decode(job); };
    if (config.copy_ns > 0) {
      const SimOptions link = LinkFor(config, clock.device_mode);
      auto device = std::make_unique<SimDevice>(link);
      device_ = device.get();
      if (clock.drive) clock.drive(*device_);
      seams.device = std::move(device);
      loader_.emplace(OptionsFor(config), source_, std::move(seams));
      work_.emplace(*device_, link, std::max(20 * config.step.mean_ns, config.foreign_copies_ns));
      return;
    }
    loader_.emplace(OptionsFor(config), source_, std::move(seams));
  }
  ~Trial() {
    if (clock_.settle) clock_.settle();
  }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  TrialResult Run() {
    const std::shared_ptr<void> neighbours = others_ ? clock_.neighbours() : nullptr;
    for (int64_t i = 0; i < config_.warm_up; ++i) Step(i);
    if (config_.warm_up > 0) loader_->RestartReport();
    for (int64_t i = 0; i < config_.batches; ++i) Step(config_.warm_up + i);
    return {loader_->Report(), std::max(decoding_.late(), stepping_.late()), std::move(active_workers_)};
  }

 private:
  static StorageModel StorageFor(const TrialConfig& config) {
    StorageModel model = {config.seed, config.read, config.bandwidth};
    model.latency.mean_ns /= SpeedOf(config, Stage::kIo);
    model.bandwidth.mean_ns /= SpeedOf(config, Stage::kIo);
    return model;
  }

  void Decode(const SampleJob& job) {
    const int64_t begin_ns = clock_.now();
    const int64_t ns =
        Faster(config_.decode.Draw(config_.seed, kDecodeDice, job.sequence), SpeedOf(config_, Stage::kDecode));
    const auto off_ns = others_ ? 0 : static_cast<int64_t>(static_cast<double>(ns) * config_.off_cpu);
    clock_.pause(off_ns);
    clock_.work(ns - off_ns);
    if (!others_) decoding_.Add(ns, clock_.now() - begin_ns);
  }

  void Step(int64_t index) {
    const bool on_stream = config_.step_on_device && work_;
    const std::optional<Batch> batch = loader_->Next(on_stream ? work_->stream() : kHostStream);
    if (config_.foreign_copies_ns > 0 && work_) {
      work_->Copy(config_.foreign_copies_ns / SpeedOf(config_, Stage::kCopy));
    }
    active_workers_.push_back(loader_->active_workers());
    const double faster = SpeedOf(config_, Stage::kConsumer) / (config_.pace ? config_.pace(index) : 1);
    const int64_t ns = Faster(config_.step.Draw(config_.seed, kStepDice, index), faster);
    if (on_stream) return work_->Step(static_cast<double>(ns));
    const int64_t begin_ns = clock_.now();
    clock_.pause(ns);
    stepping_.Add(ns, clock_.now() - begin_ns);
  }

  const TrialConfig config_;
  const TrialClock clock_;
  const bool others_ = config_.off_cpu > 0 && clock_.neighbours != nullptr;
  Punctuality decoding_, stepping_;
  std::vector<int32_t> active_workers_;
  std::shared_ptr<const OnePicture> source_;
  SimDevice* device_ = nullptr;  // the loader's
  std::optional<Loader> loader_;
  std::optional<DeviceWork> work_;  // after the loader, whose device it works with: destroyed first
};

void Burn(int64_t ns) {
  for (const int64_t end_ns = ThreadCpuNow() + ns; ThreadCpuNow() < end_ns;) {
  }
}

// Two threads a CPU that work without end.
class Neighbours {
 public:
  Neighbours() {
    for (unsigned i = 0; i < 2 * std::thread::hardware_concurrency(); ++i) {
      threads_.emplace_back([this] {
        while (!stop_) Burn(100'000);
      });
    }
  }
  ~Neighbours() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  Neighbours(const Neighbours&) = delete;
  Neighbours& operator=(const Neighbours&) = delete;

 private:
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

}  // namespace

TrialClock RealClock() {
  TrialClock clock;
  clock.work = Burn;
  clock.neighbours = [] { return std::make_shared<Neighbours>(); };
  clock.pause = [](int64_t ns) {
    if (ns > 0) std::this_thread::sleep_for(std::chrono::nanoseconds(ns));
  };
  return clock;
}

std::vector<uint8_t> SmallPicture() {
  std::vector<uint8_t> rgb(size_t{kSmallSide} * kSmallSide * 3);
  for (size_t i = 0; i < rgb.size(); ++i) rgb[i] = static_cast<uint8_t>(i);
  return EncodeJpeg(rgb, kSmallSide, kSmallSide, JpegKind::k444, 90);
}

TrialResult RunTrial(const TrialConfig& config, const TrialClock& clock) { return Trial(config, clock).Run(); }

}  // namespace stoker
