#include "loader/loader.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench/gpu/parts.h"
#include "bench/steady_seconds.h"
#include "loader/file_source.h"

namespace stoker {
namespace {

using nlohmann::json;

constexpr int kBatchSize = 64;
constexpr const char* kDevice = "cuda";

LoaderOptions OptionsOf(ElementType element, const std::string& device) {
  LoaderOptions options;
  options.batch_size = kBatchSize;
  options.drop_last = true;
  options.recipe = TrainRecipe(224, element);
  options.device = device;
  return options;
}

// The next batch, in the next epoch where one has ended.
Batch NextBatch(Loader& loader, StreamHandle stream) {
  auto batch = loader.Next(stream);
  if (!batch) batch = loader.Next(stream);
  if (!batch) throw std::runtime_error("fewer pictures than a batch holds");
  return std::move(batch.value());
}

// Work for the consumer's stream in place of a training step: kernels, or copies of its own where there are none.
class Step {
 public:
  Step(const Gpu& gpu, const Stream& stream)
      : gpu_(gpu),
        kernel_(KernelLoad::Make(gpu.device, 8)),
        there_(gpu.device, kCopyBytes),
        host_(kCopyBytes, Pages::kHuge) {
    host_.FaultIn();
    host_.Register(gpu.device);
    Submit(stream, 1);
    constexpr int kTimes = 8;
    unit_seconds_ = DeviceSeconds(gpu.device, stream, [&] { Submit(stream, kTimes); }) / kTimes;
  }

  void SubmitSeconds(const Stream& stream, double seconds) const {
    Submit(stream, std::max<int64_t>(1, std::llround(seconds / unit_seconds_)));
  }

 private:
  static constexpr size_t kCopyBytes = size_t{1} << 20;

  void Submit(const Stream& stream, int64_t times) const {
    if (kernel_) return kernel_->Submit(stream, times);
    for (int64_t i = 0; i < times; ++i) {
      Check(gpu_.device.CopyToHostAsync(host_.data(), there_.get(), kCopyBytes, stream), "copy to the host");
    }
  }

  const Gpu& gpu_;
  const std::optional<KernelLoad> kernel_;
  const DeviceMemory there_;
  HostMemory host_;
  double unit_seconds_ = 0;
};

// Takes batches as fast as they come; images a second.
double FreeRate(Loader& loader, const Stream& stream, double seconds) {
  for (int i = 0; i < 3; ++i) (void)NextBatch(loader, stream);
  const double start = SteadySeconds();
  int64_t images = 0;
  while (SteadySeconds() - start < seconds) images += NextBatch(loader, stream).size();
  return static_cast<double>(images) / (SteadySeconds() - start);
}

// Steps of such a length, at most two of them ahead of the device, as a training loop that does not synchronise.
void Train(const Gpu& gpu, Loader& loader, const Stream& stream, const Step& step, double step_seconds) {
  constexpr size_t kWarmUp = 4;
  const std::array<std::unique_ptr<Event>, 2> done = {std::make_unique<Event>(gpu.device),
                                                      std::make_unique<Event>(gpu.device)};
  double end = 0;
  for (size_t i = 0; i <= kWarmUp || SteadySeconds() < end; ++i) {
    if (i == kWarmUp) {
      loader.RestartReport();
      end = SteadySeconds() + gpu.effort.seconds;
    }
    done[i % 2]->Synchronize();
    const Batch batch = NextBatch(loader, stream);
    step.SubmitSeconds(stream, step_seconds);
    done[i % 2]->Record(stream);
  }
}

json SlowConsumer(const Gpu& gpu) {
  const Stream stream(gpu.device);
  const Step step(gpu, stream);
  Loader loader(OptionsOf(ElementType::kFloat32, kDevice), OpenFolder(gpu.photos));
  const double free_rate = FreeRate(loader, stream, gpu.effort.seconds);
  // Half of what the loader can do: it has nothing to be late for.
  const double step_seconds = 2 * kBatchSize / free_rate;
  Train(gpu, loader, stream, step, step_seconds);
  const StallReport report = loader.Report();
  stream.Synchronize();
  return {{"free_images_per_second", free_rate},
          {"step_seconds", step_seconds},
          {"images_per_second", report.images_per_second},
          {"batches", report.batches},
          {"stall_share", report.stall_share},
          {"device_stall_share", report.device_stall_share},
          {"verdict", report.verdict},
          {"device", report.device},
          {"workers", report.workers},
          {"pinned", report.pinned}};
}

bool SameBatches(const std::string& photos, const LoaderOptions& options, int batches) {
  LoaderOptions on_cpu = options;
  on_cpu.device = "cpu";
  on_cpu.normalize_on = NormalizeOn::kAuto;
  Loader wanted(on_cpu, OpenFolder(photos)), given(options, OpenFolder(photos));
  for (int i = 0; i < batches; ++i) {
    const Batch want = NextBatch(wanted, kHostStream), have = NextBatch(given, kHostStream);
    std::vector<std::byte> want_pixels(want.pixel_bytes()), have_pixels(have.pixel_bytes());
    want.CopyPixelsTo(want_pixels);
    have.CopyPixelsTo(have_pixels);
    if (want_pixels != have_pixels || !std::ranges::equal(want.labels(), have.labels()) ||
        !std::ranges::equal(want.ids(), have.ids())) {
      return false;
    }
  }
  return true;
}

json Comparisons(const Gpu& gpu) {
  constexpr int kBatches = 3;
  json checks = json::object();
  for (const ElementType element :
       {ElementType::kUint8, ElementType::kFloat16, ElementType::kBfloat16, ElementType::kFloat32}) {
    for (const NormalizeOn where : {NormalizeOn::kHost, NormalizeOn::kDevice}) {
      const bool on_device = where == NormalizeOn::kDevice;
      if (on_device && (!gpu.device.can_finish() || element == ElementType::kUint8)) continue;
      LoaderOptions options = OptionsOf(element, kDevice);
      options.normalize_on = where;
      const std::string name = "batches of " + std::string(ElementName(element)) + ", normalised on the " +
                               (on_device ? "device" : "host") + ", are the CPU's";
      checks[name] = SameBatches(gpu.photos, options, kBatches);
    }
  }
  return checks;
}

}  // namespace

json MeasureLoader(const Gpu& gpu) { return {{"slow_consumer", SlowConsumer(gpu)}, {"checks", Comparisons(gpu)}}; }

json MeasureColdStart(const std::string& photos) {
  std::unique_ptr<Device> device;
  const double context = HostSeconds([&] { device = OpenGpu(); });
  std::unique_ptr<Loader> loader;
  const double made = HostSeconds(
      [&] { loader = std::make_unique<Loader>(OptionsOf(ElementType::kFloat32, kDevice), OpenFolder(photos)); });
  const double first = HostSeconds([&] { (void)NextBatch(*loader, kHostStream); });
  const double second = HostSeconds([&] { (void)NextBatch(*loader, kHostStream); });
  return {{"context_seconds", context},
          {"loader_seconds", made},
          {"first_batch_seconds", first},
          {"second_batch_seconds", second}};
}

}  // namespace stoker
