// What a training job or an inference takes of a GPU's memory: an estimate, for what the model's own code does is not
// known. bench/budget/README.md has each formula with its source.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "bench/budget/term.h"

namespace stoker {

enum class Precision : uint8_t {
  kFp32,
  kMixed,  // computes in 16 bits, with fp32 master weights
  kHalf,   // fp16 or bf16 alone, optimizer state included
};
// How weights lie that are only read: those of an inference, or of the base below LoRA.
enum class WeightType : uint8_t { kFp32, kHalf, kInt8, kInt4 };
enum class Optimizer : uint8_t { kAdamw, kAdamw8bit, kAdafactor, kLion, kMuon, kMomentum, kSgd, kNone };

// The layers of a transformer or ViT, for its activations.
struct Layers {
  double layers = 0;
  double hidden = 0;
  double heads = 0;
  double sequence = 0;
  double vocabulary = 0;  // 0: no logits
};

struct KvCache {
  double layers = 0;
  double kv_heads = 0;
  double head_dim = 0;
  double context = 0;  // tokens, of the prompt and the answer
};

// A model and how it is run, on one GPU of `world_size`. Counts are doubles: nothing wraps, whatever they are.
struct Model {
  double parameters = 0;
  double lora_parameters = 0;  // 0: all of the parameters are trained
  Precision precision = Precision::kMixed;
  std::optional<WeightType> weights = {};
  Optimizer optimizer = Optimizer::kAdamw;  // kNone: inference
  std::optional<bool> half_gradients = {};  // nothing: as the precision has them
  int zero_stage = 0;
  double world_size = 1;
  bool checkpointing = false;
  bool flash_attention = false;
  double batch_size = 64;  // samples on this GPU at a time
  std::optional<Layers> layers = {};
  double activation_bytes_per_sample = 0;  // measured; in place of `layers`
  std::optional<KvCache> kv_cache = {};
  double cuda_context_bytes = 500e6;

  bool trains() const { return optimizer != Optimizer::kNone; }
};

// Every term of it. Pure.
std::vector<Term> ModelTerms(const Model& model);

// Bytes of the keys and values of one token.
double KvBytesPerToken(const KvCache& cache, double element_bytes);

}  // namespace stoker
