#include "bench/budget/model_options.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <stdexcept>
#include <string_view>

#include "bench/budget/quantity.h"

namespace stoker {
namespace {

constexpr const char* kGroup = "A model";
constexpr double kMega = 1e6;
constexpr double kMaxActivationMb = 1e9;

const std::map<std::string, Precision> kPrecisions = {
    {"fp32", Precision::kFp32}, {"mixed", Precision::kMixed}, {"fp16", Precision::kHalf}, {"bf16", Precision::kHalf}};
const std::map<std::string, Optimizer> kOptimizers = {
    {"adamw", Optimizer::kAdamw},         {"adam", Optimizer::kAdamw}, {"adamw8bit", Optimizer::kAdamw8bit},
    {"adafactor", Optimizer::kAdafactor}, {"lion", Optimizer::kLion},  {"muon", Optimizer::kMuon},
    {"momentum", Optimizer::kMomentum},   {"sgd", Optimizer::kSgd},    {"none", Optimizer::kNone}};
const std::map<std::string, WeightType> kWeightTypes = {
    {"fp32", WeightType::kFp32}, {"half", WeightType::kHalf}, {"int8", WeightType::kInt8}, {"int4", WeightType::kInt4}};
const std::map<std::string, bool> kGradients = {{"fp32", false}, {"half", true}};

template <typename T>
T Choose(std::string_view option, const std::string& word, const std::map<std::string, T>& choices) {
  const auto found = choices.find(word);
  if (found != choices.end()) return found->second;
  std::string names;
  for (const auto& [name, unused] : choices) names += (names.empty() ? "" : ", ") + name;
  throw std::invalid_argument(fmt::format("{} \"{}\" (allowed: {})", option, word, names));
}

double InRange(std::string_view option, int64_t value, int64_t high, int64_t low = 1) {
  if (value >= low && value <= high) return static_cast<double>(value);
  throw std::invalid_argument(fmt::format("{} {} (allowed: {} to {})", option, value, low, high));
}

double Needed(std::string_view option, const std::optional<int64_t>& value, int64_t high, std::string_view what_for) {
  if (value) return InRange(option, *value, high);
  throw std::invalid_argument(fmt::format("{} is missing: {}", option, what_for));
}

constexpr int64_t kMaxLayers = 10'000, kMaxHidden = 1'000'000, kMaxHeads = 10'000, kMaxTokens = 100'000'000,
                  kMaxWords = 100'000'000, kMaxHeadDim = 65'536;
constexpr std::string_view kForActivations =
    "activations need --layers, --hidden, --heads and --sequence (of a ViT: --patch)";
constexpr std::string_view kForKvCache =
    "a KV cache needs --layers, --kv-heads and --head-dim, or --hidden and --heads";

}  // namespace

void ModelCommandLine::AddTo(CLI::App& command) {
  command_ = &command;
  const auto add = [&](const char* name, auto& value, const char* words, const char* text) {
    command.add_option(name, value, words)->option_text(text)->group(kGroup);
  };
  add("--parameters", parameters_, "How many the model has: 7e9, 7B, 125M; what makes it a question about a model",
      "N");
  add("--precision", precision_, "mixed: 16 bits that compute and fp32 master weights; fp16, bf16: those alone",
      "fp32|mixed|fp16|bf16 [mixed]");
  add("--optimizer", optimizer_, "adamw and adam keep 8 B a parameter; none: inference",
      "adamw|adam|adamw8bit|adafactor|lion|muon|momentum|sgd|none [adamw]");
  add("--gradients", gradients_, "Their type under mixed and half precision [fp32 under mixed]", "fp32|half");
  add("--lora-parameters", lora_parameters_, "Of adapters that are trained on frozen weights", "N");
  add("--weights", weights_, "How weights lie that are only read: below LoRA (int4: QLoRA), or in inference",
      "fp32|half|int8|int4");
  add("--zero", zero_, "DeepSpeed's ZeRO or FSDP: 1 splits optimizer state over --world-size, 2 gradients too, 3 all",
      "0|1|2|3 [0]");
  add("--layers", layers_, "Transformer layers", "N");
  add("--hidden", hidden_, "Width of the residual stream", "N");
  add("--heads", heads_, "Attention heads", "N");
  add("--sequence", sequence_, "Tokens a sample that go through the layers at once", "N");
  add("--patch", patch_, "Of a ViT, in place of --sequence: (--size / N)^2 + 1 tokens", "N");
  add("--vocabulary", vocabulary_, "Words that logits are made for", "N");
  command.add_flag("--checkpointing", checkpointing_, "Activations are computed again in the backward pass")
      ->group(kGroup);
  command.add_flag("--flash-attention", flash_attention_, "No matrix of sequence x sequence is kept")->group(kGroup);
  add("--activation-mb-per-sample", activation_mb_, "In place of --layers: measured, for CNNs and all else, see above",
      "MB");
  add("--context", context_, "Tokens a sample whose keys and values are kept, for inference", "N");
  add("--kv-heads", kv_heads_, "Heads of keys and values, fewer with grouped queries [as --heads]", "N");
  add("--head-dim", head_dim_, "Width of a head [--hidden / --heads]", "N");
  add("--cuda-context", cuda_context_, "What CUDA takes before the first tensor", "BYTES [500MB]");
}

bool ModelCommandLine::given() const {
  if (!parameters_.empty()) return true;
  for (const CLI::Option* option : command_->get_options()) {
    if (option->get_group() == kGroup && option->count() > 0) {
      throw std::invalid_argument(option->get_name() + " describes a model: give its --parameters, too");
    }
  }
  return false;
}

std::optional<Layers> ModelCommandLine::FinishLayers(int64_t picture_size) const {
  if (sequence_ && patch_) throw std::invalid_argument("give --sequence or --patch, not both");
  if (!sequence_ && !patch_) {
    if (vocabulary_)
      throw std::invalid_argument("--sequence is missing: logits need it, and " + std::string(kForActivations));
    if (!context_ && (layers_ || hidden_ || heads_)) {
      throw std::invalid_argument(
          fmt::format("--sequence is missing: {}; or --context: {}", kForActivations, kForKvCache));
    }
    return std::nullopt;
  }
  Layers layers;
  layers.layers = Needed("--layers", layers_, kMaxLayers, kForActivations);
  layers.hidden = Needed("--hidden", hidden_, kMaxHidden, kForActivations);
  layers.heads = Needed("--heads", heads_, kMaxHeads, kForActivations);
  if (patch_) {
    const double patches = std::floor(static_cast<double>(picture_size) / InRange("--patch", *patch_, picture_size));
    layers.sequence = patches * patches + 1;
  } else {
    layers.sequence = InRange("--sequence", *sequence_, kMaxTokens);
  }
  if (vocabulary_) layers.vocabulary = InRange("--vocabulary", *vocabulary_, kMaxWords);
  if (!head_dim_ && *hidden_ % *heads_ != 0) {
    throw std::invalid_argument(
        fmt::format("--heads {} (allowed: a divisor of --hidden {}, or --head-dim beside it)", *heads_, *hidden_));
  }
  return layers;
}

std::optional<KvCache> ModelCommandLine::FinishKvCache() const {
  if (!context_) {
    if (kv_heads_) throw std::invalid_argument("--kv-heads is for a KV cache: give --context, too");
    return std::nullopt;
  }
  KvCache cache;
  cache.context = InRange("--context", *context_, kMaxTokens);
  cache.layers = Needed("--layers", layers_, kMaxLayers, kForKvCache);
  const double heads = heads_ ? InRange("--heads", *heads_, kMaxHeads) : 0;
  cache.kv_heads = kv_heads_ ? InRange("--kv-heads", *kv_heads_, heads_.value_or(kMaxHeads))
                             : Needed("--heads", heads_, kMaxHeads, kForKvCache);
  if (heads_ && std::fmod(heads, cache.kv_heads) != 0) {
    throw std::invalid_argument(fmt::format("--kv-heads {} (allowed: a divisor of --heads {})", *kv_heads_, *heads_));
  }
  if (head_dim_) {
    cache.head_dim = InRange("--head-dim", *head_dim_, kMaxHeadDim);
    return cache;
  }
  const double hidden = Needed("--hidden", hidden_, kMaxHidden, kForKvCache);
  cache.head_dim = hidden / Needed("--heads", heads_, kMaxHeads, kForKvCache);
  if (cache.head_dim != std::floor(cache.head_dim)) {
    throw std::invalid_argument(
        fmt::format("--heads {} (allowed: a divisor of --hidden {}, or --head-dim beside it)", *heads_, *hidden_));
  }
  return cache;
}

// What each says is allowed, and together means nothing.
void ModelCommandLine::CheckSense(const Model& model) const {
  const bool lora = model.lora_parameters > 0;
  const auto refuse = [](const std::string& words) { throw std::invalid_argument(words); };
  if (model.trains() && model.weights && !lora) {
    refuse(fmt::format("--weights {} is for weights that are only read: give --lora-parameters or --optimizer none",
                       weights_));
  }
  if (model.trains() && model.kv_cache) {
    refuse(fmt::format("--context {} is for inference: give --optimizer none, or --sequence in its place", *context_));
  }
  if (!model.trains() && model.checkpointing) {
    refuse("--checkpointing: without an optimizer there is no backward pass that activations are kept for");
  }
  if (model.precision == Precision::kFp32 && model.half_gradients == true) {
    refuse("--gradients half (allowed under --precision fp32: fp32)");
  }
  if (model.layers && model.activation_bytes_per_sample > 0) {
    refuse("give --sequence or --activation-mb-per-sample, not both: they are the same activations");
  }
}

Model ModelCommandLine::Finish(const Shared& shared) const {
  Model model;
  model.parameters = ParseCount("--parameters", parameters_);
  if (!lora_parameters_.empty()) model.lora_parameters = ParseCount("--lora-parameters", lora_parameters_);
  if (!cuda_context_.empty()) model.cuda_context_bytes = ParseBytes("--cuda-context", cuda_context_);
  model.precision = Choose("--precision", precision_, kPrecisions);
  model.optimizer = Choose("--optimizer", optimizer_, kOptimizers);
  if (!weights_.empty()) model.weights = Choose("--weights", weights_, kWeightTypes);
  if (!gradients_.empty()) model.half_gradients = Choose("--gradients", gradients_, kGradients);
  model.zero_stage = static_cast<int>(InRange("--zero", zero_, 3, 0));
  model.world_size = InRange("--world-size", shared.world_size, int64_t{1} << 20);
  model.batch_size = InRange("--batch-size", shared.batch_size, 65536);
  model.checkpointing = checkpointing_;
  model.flash_attention = flash_attention_;
  model.layers = FinishLayers(shared.picture_size);
  model.kv_cache = FinishKvCache();
  if (activation_mb_) {
    if (!(*activation_mb_ > 0 && *activation_mb_ <= kMaxActivationMb)) {
      throw std::invalid_argument(
          fmt::format("--activation-mb-per-sample {} (allowed: above 0, to {:g})", *activation_mb_, kMaxActivationMb));
    }
    model.activation_bytes_per_sample = *activation_mb_ * kMega;
  }
  CheckSense(model);
  return model;
}

}  // namespace stoker
