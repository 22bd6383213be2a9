#include "loader/sampler.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <stdexcept>
#include <string>

#include "augment/random.h"
#include "loader/options.h"

namespace stoker {
namespace {

// Luby and Rackoff 1988: four rounds of a pseudo-random function give a strong permutation. That is for wide halves;
// with narrow ones the orders of a dozen samples are visibly uneven, which six rounds and four bits mend.
constexpr uint64_t kRounds = 6;
constexpr uint32_t kMinHalfBits = 4;

}  // namespace

Permutation::Permutation(uint64_t size, uint64_t key) noexcept : size_(size), key_(key) {
  assert(size > 0);
  const auto bits = static_cast<uint32_t>(std::bit_width(size - 1));
  half_bits_ = std::max((bits + 1) / 2, kMinHalfBits);
}

uint64_t Permutation::At(uint64_t index) const noexcept {
  assert(index < size_);
  const uint64_t mask = (uint64_t{1} << half_bits_) - 1;
  // The domain is less than four times the size (of all but tiny sets): fewer than four walks on average.
  do {
    uint64_t left = index >> half_bits_;
    uint64_t right = index & mask;
    for (uint64_t round = 0; round < kRounds; ++round) {
      const uint64_t mixed = left ^ (Mix64(key_ ^ Mix64(right + (round << 58))) & mask);
      left = right;
      right = mixed;
    }
    index = left << half_bits_ | right;
  } while (index >= size_);
  return index;
}

uint64_t Sampler::positions() const noexcept {
  const auto world = static_cast<uint64_t>(options_.world_size);
  const uint64_t left = options_.size - options_.done;
  return options_.drop_last ? left / world : (left + world - 1) / world;
}

uint64_t Sampler::GlobalPosition(uint64_t position) const noexcept {
  return options_.done + position * static_cast<uint64_t>(options_.world_size) + static_cast<uint64_t>(options_.rank);
}

uint64_t Sampler::At(uint64_t epoch, uint64_t position) const noexcept {
  assert(position < positions());
  const uint64_t global = GlobalPosition(position) % options_.size;
  if (!options_.shuffle) return global;
  return Permutation(options_.size, Mix64(options_.seed ^ Mix64(epoch))).At(global);
}

std::shared_ptr<const Sampler> MakeSampler(const LoaderOptions& options, uint64_t size, uint64_t done) {
  return std::make_shared<Sampler>(Sampler::Options{.size = size,
                                                    .shuffle = options.shuffle,
                                                    .seed = options.seed,
                                                    .rank = options.rank,
                                                    .world_size = options.world_size,
                                                    .drop_last = options.drop_last,
                                                    .done = done});
}

ListOrder::ListOrder(std::vector<uint32_t> ids, uint64_t size, int32_t rank, int32_t world_size, uint64_t done)
    : ids_(std::move(ids)),
      rank_(static_cast<uint64_t>(rank)),
      world_size_(static_cast<uint64_t>(world_size)),
      done_(done) {
  const auto bad = std::find_if(ids_.begin(), ids_.end(), [size](uint32_t id) { return id >= size; });
  if (bad == ids_.end()) return;
  throw std::invalid_argument("the order's place " + std::to_string(bad - ids_.begin()) + " holds sample " +
                              std::to_string(*bad) + ", but there are only " + std::to_string(size));
}

}  // namespace stoker
