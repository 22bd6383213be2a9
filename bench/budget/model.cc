#include "bench/budget/model.h"

#include <fmt/format.h>

#include <string>

#include "bench/budget/quantity.h"

namespace stoker {
namespace {

// Scales of NF4 weights: a float for each block of 64.
constexpr double kInt4Scales = 4.0 / 64;

double ElementBytes(Precision precision) { return precision == Precision::kFp32 ? 4 : 2; }

double BytesOf(WeightType type) {
  switch (type) {
    case WeightType::kFp32:
      return 4;
    case WeightType::kHalf:
      return 2;
    case WeightType::kInt8:
      return 1;
    case WeightType::kInt4:
      break;
  }
  return 0.5;
}

// Bytes a parameter of an optimizer's state.
double StateBytes(Optimizer optimizer, Precision precision) {
  const double moment = precision == Precision::kHalf ? 2 : 4;  // state has the type of the weights
  switch (optimizer) {
    case Optimizer::kAdamw:
      return 2 * moment;
    case Optimizer::kAdamw8bit:
      return 2;
    case Optimizer::kAdafactor:
    case Optimizer::kLion:
    case Optimizer::kMuon:
    case Optimizer::kMomentum:
      return moment;
    case Optimizer::kSgd:
    case Optimizer::kNone:
      break;
  }
  return 0;
}

// Terms of `bytes` a parameter, which ZeRO may divide by the ranks.
class States {
 public:
  explicit States(const Model& model) : model_(model) {}

  // `from_stage`: of ZeRO, that splits it.
  void Add(const char* name, double parameters, double bytes, int from_stage, const char* of = "") {
    if (parameters * bytes == 0) return;
    std::string formula = fmt::format("{} parameters x {:g} B{}", ShortCount(parameters), bytes, of);
    double total = parameters * bytes;
    if (model_.zero_stage >= from_stage && model_.world_size > 1) {
      total /= model_.world_size;
      formula += fmt::format(" / {:g} ranks (ZeRO-{})", model_.world_size, model_.zero_stage);
    }
    terms_.push_back({name, total, formula, Place::kVram, true});
  }
  std::vector<Term> Take() { return std::move(terms_); }

 private:
  const Model& model_;
  std::vector<Term> terms_;
};

std::vector<Term> StateTerms(const Model& model) {
  constexpr int kOptimizerStage = 1, kGradientStage = 2, kWeightStage = 3;
  States states(model);
  const double element = ElementBytes(model.precision);
  const bool lora = model.lora_parameters > 0;
  const double trained = lora ? model.lora_parameters : model.parameters;
  if (lora || !model.trains()) {
    const double bytes = model.weights ? BytesOf(*model.weights) : element;
    states.Add(lora ? "frozen weights" : "weights", model.parameters, bytes, kWeightStage);
    if (model.weights == WeightType::kInt4) {
      states.Add("scales", model.parameters, kInt4Scales, kWeightStage, ", a float for 64 int4 weights");
    }
  }
  if (lora || model.trains()) states.Add(lora ? "LoRA weights" : "weights", trained, element, kWeightStage);
  if (!model.trains()) return states.Take();
  if (model.precision == Precision::kMixed) {
    states.Add("master weights", trained, 4, kOptimizerStage, ", fp32 beside the 16 bits that compute");
  }
  const bool half = model.half_gradients.value_or(model.precision == Precision::kHalf);
  states.Add("gradients", trained, half ? 2 : 4, kGradientStage);
  states.Add("optimizer state", trained, StateBytes(model.optimizer, model.precision), kOptimizerStage,
             model.optimizer == Optimizer::kAdafactor ? ", at most" : "");
  return states.Take();
}

// One layer's activations, that a backward pass needs: arXiv 2205.05198, eq. 2, as the EleutherAI cookbook writes it
// for elements of any size.
struct LayerBytes {
  double linear = 0;
  double attention = 0;  // the matrices of sequence x sequence
  std::string formula;
};

LayerBytes OneLayer(const Model& model, const Layers& layers) {
  const double p = ElementBytes(model.precision);
  const double sbh = layers.sequence * model.batch_size * layers.hidden;
  const double linear = 16 * p + 2;
  const double square = 2 * p + 1;
  LayerBytes bytes{sbh * linear, 0, fmt::format("{:g} s b h", linear)};
  if (!model.flash_attention) {
    bytes.attention = square * layers.heads * layers.sequence * layers.sequence * model.batch_size;
    bytes.formula += fmt::format(" + {:g} a s^2 b", square);
  }
  return bytes;
}

void AddActivations(const Model& model, const Layers& layers, std::vector<Term>& terms) {
  const LayerBytes layer = OneLayer(model, layers);
  const double p = ElementBytes(model.precision);
  const double sbh = layers.sequence * model.batch_size * layers.hidden;
  const std::string numbers = fmt::format("; L = {:g}, s = {:g}, b = {:g}, h = {:g}, a = {:g}", layers.layers,
                                          layers.sequence, model.batch_size, layers.hidden, layers.heads);
  const auto add = [&](const char* name, double bytes, const std::string& formula) {
    terms.push_back({name, bytes, formula, Place::kVram, true});
  };
  if (!model.trains()) {
    add("activations", layer.linear + layer.attention, layer.formula + ", of one layer at a time" + numbers);
  } else if (model.checkpointing) {
    add("checkpoints", layers.layers * p * sbh, fmt::format("L x {:g} s b h", p) + numbers);
    add("activations", layer.linear + layer.attention, layer.formula + ", of the layer that is computed again");
  } else {
    add("activations", layers.layers * layer.linear, fmt::format("L x {:g} s b h", 16 * p + 2) + numbers);
    if (layer.attention > 0) {
      add("attention", layers.layers * layer.attention,
          fmt::format("L x {:g} a s^2 b, none with FlashAttention", 2 * p + 1));
    }
  }
  if (layers.vocabulary > 0) {
    add("logits", 4 * model.batch_size * layers.sequence * layers.vocabulary,
        fmt::format("4 B x b x s x {:g} words", layers.vocabulary));
  }
}

}  // namespace

double KvBytesPerToken(const KvCache& cache, double element_bytes) {
  return 2 * element_bytes * cache.layers * cache.kv_heads * cache.head_dim;
}

std::vector<Term> ModelTerms(const Model& model) {
  std::vector<Term> terms = StateTerms(model);
  if (model.layers) AddActivations(model, *model.layers, terms);
  if (model.activation_bytes_per_sample > 0) {
    terms.push_back(
        {"activations", model.activation_bytes_per_sample * model.batch_size,
         fmt::format("{:g} samples x {} as measured", model.batch_size, AmountWords(model.activation_bytes_per_sample)),
         Place::kVram, true});
  }
  if (model.kv_cache) {
    const KvCache& cache = *model.kv_cache;
    const double element = ElementBytes(model.precision);
    terms.push_back(
        {"KV cache", KvBytesPerToken(cache, element) * cache.context * model.batch_size,
         fmt::format("2 x {:g} B x {:g} layers x {:g} heads x {:g} wide x {:g} tokens x {:g} samples", element,
                     cache.layers, cache.kv_heads, cache.head_dim, cache.context, model.batch_size),
         Place::kVram, true});
  }
  if (model.cuda_context_bytes > 0) {
    terms.push_back({"CUDA context", model.cuda_context_bytes, "0.3 to 0.6 GB by GPU, driver and kernels loaded",
                     Place::kVram, true});
  }
  return terms;
}

}  // namespace stoker
