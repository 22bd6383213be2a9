#include "bench/budget/advice.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <utility>

#include "bench/budget/quantity.h"

namespace stoker {
namespace {

// More than that is not for the CPU's memory: weights and state would cross the bus in every step.
constexpr double kOffloadBytes = 2e9;

class Adviser {
 public:
  Adviser(const Model& model, double other_bytes, double vram_bytes)
      : model_(model), other_bytes_(other_bytes), vram_bytes_(vram_bytes) {}

  double Total(const Model& model) const { return SumOf(ModelTerms(model)) + other_bytes_; }

  // Says `what` where that makes the model smaller.
  void Try(const std::string& what, const std::function<void(Model&)>& change) {
    Model changed = model_;
    change(changed);
    const double total = Total(changed);
    if (total >= Total(model_)) return;
    change(together_);
    ++steps_;
    advice_.push_back({what, total});
  }

  // The largest batch that fits; 1 where none does. What a batch takes is linear in it.
  double Batch() const {
    Model one = model_, none = model_;
    one.batch_size = 1;
    none.batch_size = 0;
    const double sample = Total(one) - Total(none);
    return sample <= 0 ? model_.batch_size
                       : std::fmax(std::fmin(std::floor((vram_bytes_ - Total(none)) / sample), model_.batch_size), 1);
  }

  std::vector<Advice> Take(double short_bytes) {
    if (steps_ > 1) advice_.push_back({"all of these together", Total(together_)});
    advice_.push_back(
        {short_bytes <= kOffloadBytes
             ? "last: optimizer state or weights in the CPU's memory (offload), which every step moves over the bus"
             : "offload to the CPU's memory is no remedy: for 2 GB at most, or where speed does not matter",
         std::nullopt});
    return std::move(advice_);
  }

 private:
  const Model& model_;
  const double other_bytes_;
  const double vram_bytes_;
  Model together_ = model_;
  int steps_ = 0;
  std::vector<Advice> advice_;
};

void AdviseBatch(const Model& model, Adviser& adviser) {
  const double batch = adviser.Batch();
  const std::string what = model.trains() ? fmt::format("--batch-size {:g}, and gradients of {:g} batches accumulated",
                                                        batch, std::ceil(model.batch_size / batch))
                                          : fmt::format("--batch-size {:g}", batch);
  adviser.Try(what, [batch](Model& changed) { changed.batch_size = batch; });
}

void AdviseTraining(const Model& model, Adviser& adviser) {
  AdviseBatch(model, adviser);
  if (model.precision == Precision::kFp32) {
    adviser.Try("--precision mixed: half the activations, though 2 B a parameter more",
                [](Model& changed) { changed.precision = Precision::kMixed; });
  }
  adviser.Try("--checkpointing: activations are computed again, for about a third more time",
              [](Model& changed) { changed.checkpointing = true; });
  adviser.Try("--flash-attention: no matrix of sequence x sequence",
              [](Model& changed) { changed.flash_attention = true; });
  if (model.optimizer == Optimizer::kAdamw) {
    adviser.Try("--optimizer adamw8bit: 2 B of state a parameter",
                [](Model& changed) { changed.optimizer = Optimizer::kAdamw8bit; });
  }
  if (model.world_size > 1) {
    for (int stage = model.zero_stage + 1; stage <= 3; ++stage) {
      adviser.Try(fmt::format("--zero {}: over the {:g} ranks", stage, model.world_size),
                  [stage](Model& changed) { changed.zero_stage = stage; });
    }
  }
}

void AdviseInference(const Model& model, Adviser& adviser) {
  AdviseBatch(model, adviser);
  if (model.precision == Precision::kFp32) {
    adviser.Try("--precision fp16 or bf16", [](Model& changed) { changed.precision = Precision::kHalf; });
  }
  adviser.Try("--flash-attention: no matrix of sequence x sequence",
              [](Model& changed) { changed.flash_attention = true; });
  adviser.Try("--weights int8", [](Model& changed) { changed.weights = WeightType::kInt8; });
  adviser.Try("--weights int4", [](Model& changed) { changed.weights = WeightType::kInt4; });
}

}  // namespace

std::vector<Advice> Advise(const Model& model, double other_bytes, double vram_bytes) {
  Adviser adviser(model, other_bytes, vram_bytes);
  const double short_bytes = adviser.Total(model) - vram_bytes;
  if (short_bytes <= 0) return {};
  if (model.trains()) {
    AdviseTraining(model, adviser);
  } else {
    AdviseInference(model, adviser);
  }
  return adviser.Take(short_bytes);
}

}  // namespace stoker
