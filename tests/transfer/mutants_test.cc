// Deliberate bugs in the transfer stage, each of which the simulated device or the bytes must give away.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/transfer/mutant_device.h"
#include "transfer/pinned_lender.h"
#include "transfer/prefetcher.h"
#include "transfer/sim_device.h"

namespace stoker {
namespace {

constexpr uint32_t kBatch = 4;
constexpr int32_t kSide = 4;
constexpr size_t kPixelBytes = kSide * kSide * 3;
constexpr int64_t kBatches = 8;
constexpr int64_t kWarmUp = 3;  // batches after which nothing is made any more
constexpr std::chrono::seconds kLong{10};

// What was found, in words; the first is enough.
using Findings = std::vector<std::string>;

struct Schedule {
  std::string name;
  SimOptions options;
};

std::vector<Schedule> Schedules() {
  std::vector<Schedule> schedules = {{"lazy", StrictSim(SimMode::kLazy)}, {"eager", StrictSim(SimMode::kEager)}};
  for (uint64_t seed = 0; seed < 4; ++seed) {
    schedules.push_back({"random " + std::to_string(seed), StrictSim(SimMode::kRandom, seed)});
  }
  for (Schedule& schedule : schedules) schedule.options.checks = SimChecks::kCollect;
  return schedules;
}

// A pipeline on a device with a bug: the test is the feeder and the trainer.
class Pipeline {
 public:
  Pipeline(Mutant mutant, const SimOptions& options) {
    auto device = std::make_unique<SimDevice>(options);
    sim_ = device.get();
    device_ = std::make_unique<MutantDevice>(std::move(device), mutant);
    EXPECT_FALSE(sim_->Attach());
  }
  ~Pipeline() { sim_->Detach(); }
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // Batches through the prefetcher to `streams` in turn, each read there and given back at once.
  Findings Train(bool finish, size_t streams);
  // Batches in page-locked host memory, which the trainer copies to the device itself.
  Findings Lend();

 private:
  struct Made {
    uint64_t all = 0, waits = 0;
  };

  bool Produce(Ring& ring);
  std::byte* PinnedCopyOf(const void* device_memory, size_t bytes, StreamHandle stream);
  void Compare(const std::byte* seen, size_t bytes, int64_t batch);
  Made MadeSoFar() const;
  void Close(const std::vector<StreamHandle>& streams);
  void CountWhatIsLeft();
  void Say(const std::string& words) { findings_.push_back(words); }

  static SlotLayout Layout() { return SlotLayout(kBatch, {{"pixels", kPixelBytes, 0}, {"flips", 1, 0}}); }
  // As its kernel makes it: bytes are exact in float32.
  static std::optional<DeviceFinish> Finish() {
    DeviceFinish finish;
    finish.launch.height = finish.launch.width = kSide;
    finish.launch.mean[0] = finish.launch.mean[1] = finish.launch.mean[2] = 0.5f;
    finish.tensor_bytes = kBatch * kPixelBytes * sizeof(float);
    finish.flips_field = 1;
    return finish;
  }
  static std::byte ValueOf(int64_t batch) { return static_cast<std::byte>(batch + 1); }

  SimDevice* sim_ = nullptr;
  std::unique_ptr<MutantDevice> device_;
  std::vector<std::unique_ptr<std::vector<std::byte>>> pinned_;
  Findings findings_;
};

bool Pipeline::Produce(Ring& ring) {
  BatchSlot* const slot = ring.TryLease(kBatch);
  if (slot == nullptr) return false;
  for (uint32_t i = 0; i < kBatch; ++i) {
    const SampleSlot sample(*slot, i);
    std::ranges::fill(sample.bytes(0), ValueOf(slot->batch));
    sample.Set(1, uint8_t{0});
  }
  return true;
}

std::byte* Pipeline::PinnedCopyOf(const void* device_memory, size_t bytes, StreamHandle stream) {
  pinned_.push_back(std::make_unique<std::vector<std::byte>>(bytes));
  std::byte* const to = pinned_.back()->data();
  if (sim_->RegisterHost(to, bytes)) Say("host memory could not be registered");
  if (const auto error = sim_->CopyToHostAsync(to, device_memory, bytes, stream)) Say(error.message());
  return to;
}

void Pipeline::Compare(const std::byte* seen, size_t bytes, int64_t batch) {
  std::vector<std::byte> expected(bytes, ValueOf(batch));
  if (bytes > kBatch * kPixelBytes) {
    const float value = static_cast<float>(batch + 1) / 255.0f - 0.5f;
    for (size_t at = 0; at < bytes; at += sizeof value) std::memcpy(&expected[at], &value, sizeof value);
  }
  if (std::memcmp(seen, expected.data(), bytes) != 0) Say("wrong bytes in batch " + std::to_string(batch));
}

Pipeline::Made Pipeline::MadeSoFar() const {
  Made made;
  for (const SimCall call : {SimCall::kAllocate, SimCall::kFree, SimCall::kRegisterHost, SimCall::kUnregisterHost,
                             SimCall::kCreateStream, SimCall::kCreateEvent, SimCall::kDestroyEvent}) {
    made.all += sim_->calls(call);
  }
  made.all -= pinned_.size();  // the test's own
  made.waits = sim_->calls(SimCall::kSynchronizeStream) + sim_->calls(SimCall::kSynchronizeEvent);
  return made;
}

// Waits for the trainer's streams, and collects what the device has noticed.
void Pipeline::Close(const std::vector<StreamHandle>& streams) {
  for (const StreamHandle stream : streams) {
    if (const auto error = sim_->SynchronizeStream(stream)) Say(error.message());
  }
  for (const std::string& violation : sim_->violations()) Say(violation);
}

void Pipeline::CountWhatIsLeft() {
  if (sim_->calls(SimCall::kAllocate) > sim_->calls(SimCall::kFree)) Say("device memory is left");
  if (sim_->calls(SimCall::kCreateEvent) > sim_->calls(SimCall::kDestroyEvent)) Say("events are left");
  if (sim_->calls(SimCall::kRegisterHost) > sim_->calls(SimCall::kUnregisterHost) + pinned_.size()) {
    Say("registered memory is left");
  }
  for (const std::string& violation : sim_->violations()) Say(violation);
  for (const auto& memory : pinned_) (void)sim_->UnregisterHost(memory->data());
}

Findings Pipeline::Train(bool finish, size_t streams) {
  std::vector<StreamHandle> consumers(streams);
  for (StreamHandle& stream : consumers) (void)sim_->CreateStream(stream);
  std::vector<std::pair<std::byte*, int64_t>> seen;
  const size_t bytes = finish ? Finish()->tensor_bytes : kBatch * kPixelBytes;
  try {
    Ring ring(
        Layout(), 3, SteadyNow, [] {}, true);
    Prefetcher prefetcher(*device_, ring,
                          {.device_slots = 2, .finish = finish ? Finish() : std::nullopt, .copy_deadline = kLong},
                          SteadyNow);
    prefetcher.Start();
    Made warm;
    for (int64_t batch = 0; batch < kBatches; ++batch) {
      while (Produce(ring)) {
      }
      const StreamHandle stream = consumers[static_cast<size_t>(batch) % streams];
      std::error_code error;
      DeviceSlot* const slot = prefetcher.Take(stream, kLong, error);
      if (slot == nullptr) {
        Say(error ? error.message() : "no batch came");
        break;
      }
      seen.emplace_back(PinnedCopyOf(slot->tensor, bytes, stream), batch);
      prefetcher.Return(*slot, stream);
      if (batch == kWarmUp) warm = MadeSoFar();
    }
    const Made made = MadeSoFar();
    if (made.all > warm.all && seen.size() == kBatches) Say("steady state makes or frees something");
    if (made.waits > warm.waits && seen.size() == kBatches) Say("steady state makes the host wait");
  } catch (const std::system_error& error) {
    Say(error.what());
  }
  Close(consumers);
  for (const auto& [copy, batch] : seen) Compare(copy, bytes, batch);
  CountWhatIsLeft();
  for (const StreamHandle stream : consumers) (void)sim_->DestroyStream(stream);
  return findings_;
}

Findings Pipeline::Lend() {
  StreamHandle stream = 0;
  void* memory = nullptr;
  (void)sim_->CreateStream(stream);
  (void)sim_->Allocate(kBatch * kPixelBytes, memory);
  std::vector<std::byte*> seen;
  try {
    Ring ring(
        Layout(), 2, SteadyNow, [] {}, true);
    PinnedLender lender(*device_, ring, SteadyNow, kLong);
    lender.Start();
    for (int64_t batch = 0; batch < kBatches; ++batch) {
      const auto deadline = std::chrono::steady_clock::now() + kLong;
      while (!Produce(ring) && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
      BatchSlot* const slot = ring.TakeFull(std::chrono::nanoseconds(1));
      if (slot == nullptr) {
        Say("no slot came back");
        break;
      }
      if (const auto error = sim_->CopyToDeviceAsync(memory, slot->data, kBatch * kPixelBytes, stream)) {
        Say(error.message());
      }
      lender.Return(*slot, stream);  // dropped while the copy may run
      seen.push_back(PinnedCopyOf(memory, kBatch * kPixelBytes, stream));
    }
  } catch (const std::system_error& error) {
    Say(error.what());
  }
  Close({stream});
  for (size_t batch = 0; batch < seen.size(); ++batch) {
    Compare(seen[batch], kBatch * kPixelBytes, static_cast<int64_t>(batch));
  }
  (void)sim_->Free(memory);
  CountWhatIsLeft();
  (void)sim_->DestroyStream(stream);
  return findings_;
}

struct Scenario {
  const char* name;
  Findings (*run)(Pipeline&);
};
const Scenario kScenarios[] = {
    {"upload", [](Pipeline& pipeline) { return pipeline.Train(false, 1); }},
    {"upload and finish", [](Pipeline& pipeline) { return pipeline.Train(true, 1); }},
    {"two streams in turn", [](Pipeline& pipeline) { return pipeline.Train(false, 2); }},
    {"lend pinned memory", [](Pipeline& pipeline) { return pipeline.Lend(); }},
};

class MutantTest : public testing::TestWithParam<int> {};

TEST_P(MutantTest, IsCaught) {
  const auto mutant = static_cast<Mutant>(GetParam());
  std::vector<std::string> catchers;
  std::string first;
  for (const Scenario& scenario : kScenarios) {
    for (const Schedule& schedule : Schedules()) {
      Pipeline pipeline(mutant, schedule.options);
      const Findings findings = scenario.run(pipeline);
      if (findings.empty()) continue;
      catchers.push_back(std::string(scenario.name) + " (" + schedule.name + ")");
      if (first.empty()) first = findings.front();
    }
  }
  if (mutant == Mutant::kNone) {
    EXPECT_TRUE(catchers.empty()) << "the program without a bug: " << catchers.front() << ": " << first;
    return;
  }
  EXPECT_FALSE(catchers.empty());
  const std::string_view name = kMutantNames[static_cast<size_t>(mutant)];
  std::printf("mutant  %-20.*s %2zu of %zu runs catch it, as %s: %s\n", static_cast<int>(name.size()), name.data(),
              catchers.size(), std::size(kScenarios) * Schedules().size(), catchers.empty() ? "" : catchers[0].c_str(),
              first.c_str());
}

INSTANTIATE_TEST_SUITE_P(, MutantTest, testing::Range(0, static_cast<int>(Mutant::kCount)),
                         [](const auto& param) { return std::string(kMutantNames[static_cast<size_t>(param.param)]); });

}  // namespace
}  // namespace stoker
