#include "tests/loader/late_reader.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "augment/random.h"

namespace stoker {
namespace {

constexpr int kMaxDelayRounds = 20;

class FaultyReader final : public Reader {
 public:
  FaultyReader(std::unique_ptr<Reader> real, std::function<Fault(uint64_t, const SampleJob&)> choose)
      : real_(std::move(real)), choose_(std::move(choose)) {}

  std::string_view name() const noexcept override { return "faulty"; }
  bool has_room() const noexcept override { return real_->has_room() && held_.size() < kRoom; }
  uint32_t in_flight() const noexcept override {
    const auto coming = std::count_if(held_.begin(), held_.end(), [](const Held& held) { return !held.fault.never; });
    return real_->in_flight() + static_cast<uint32_t>(coming);
  }
  void Submit(SampleJob job) noexcept override { real_->Submit(std::move(job)); }
  void Wake() noexcept override { real_->Wake(); }

  void Wait(std::vector<SampleJob>& done, std::chrono::nanoseconds timeout) noexcept override {
    std::vector<SampleJob> finished;
    // While something is held back, rounds must go by.
    real_->Wait(finished, held_.empty() ? timeout : std::chrono::nanoseconds(50'000));
    for (SampleJob& job : finished) {
      Fault fault = choose_(reads_++, job);
      held_.push_back({std::move(job), fault});
    }
    for (size_t i = 0; i < held_.size();) {
      if (held_[i].fault.never || held_[i].fault.delay_rounds-- > 0) {
        ++i;
        continue;
      }
      if (held_[i].fault.error) held_[i].job.error = held_[i].fault.error;
      done.push_back(std::move(held_[i].job));
      held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

 private:
  static constexpr size_t kRoom = 16;
  struct Held {
    SampleJob job;
    Fault fault;
  };

  std::unique_ptr<Reader> real_;
  std::function<Fault(uint64_t, const SampleJob&)> choose_;
  std::vector<Held> held_;
  uint64_t reads_ = 0;
};

}  // namespace

LoaderSeams FaultyReads(std::function<Fault(uint64_t read, const SampleJob& job)> choose) {
  LoaderSeams seams;
  seams.make_reader = [choose = std::move(choose)](ReaderKind, const Source& source, const Reader::Options& options,
                                                   std::string& choice) {
    choice = "faulty";
    return std::make_unique<FaultyReader>(MakePreadReader(source, options), choose);
  };
  return seams;
}

LoaderSeams LateReads(uint64_t seed) {
  return FaultyReads([seed](uint64_t read, const SampleJob&) {
    return Fault{.delay_rounds = static_cast<int>(Random({seed, 0, read}, 0).Below(kMaxDelayRounds)), .error = {}};
  });
}

}  // namespace stoker
