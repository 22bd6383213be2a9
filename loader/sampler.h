// The order of samples: a pure function of (seed, epoch, position) in O(1) memory, or a list that somebody else drew.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace stoker {

struct LoaderOptions;

// A shuffled order without a list: a keyed bijection of [0, size), made of a six-round Feistel network over the next
// even power of two, walked until it lands inside ("cycle walking", Black and Rogaway 2002).
class Permutation {
 public:
  // Requires: size > 0.
  Permutation(uint64_t size, uint64_t key) noexcept;
  uint64_t At(uint64_t index) const noexcept;

 private:
  uint64_t size_;
  uint64_t key_;
  uint32_t half_bits_;
};

// Which sample stands at which position of an epoch. Threads: immutable while an epoch runs, safe from any.
class Order {
 public:
  virtual ~Order() = default;
  // Samples of this rank in one epoch, the same for every rank.
  virtual uint64_t positions() const noexcept = 0;
  // The position in the order of all ranks: what random keys use, so that another world size draws the same.
  virtual uint64_t GlobalPosition(uint64_t position) const noexcept = 0;
  // The id at a position of this rank. Requires: position < positions().
  virtual uint64_t At(uint64_t epoch, uint64_t position) const noexcept = 0;
};

// The keyed order for one rank of a world. Ranks are strided through the global order and all get the same
// number of positions, as torch.utils.data.DistributedSampler does: the order is padded from its own beginning, or cut
// with `drop_last`. Stateless: resuming is (epoch, position).
class Sampler final : public Order {
 public:
  struct Options {
    uint64_t size = 0;  // samples of the source
    bool shuffle = true;
    uint64_t seed = 0;
    int32_t rank = 0;
    int32_t world_size = 1;
    bool drop_last = false;
    // Samples of the epoch that are done, over all ranks: what is left is dealt out to the ranks anew, so a run may go
    // on in a world of another size. The padding is still the epoch's first samples.
    uint64_t done = 0;
  };
  explicit Sampler(const Options& options) noexcept : options_(options) {}

  uint64_t positions() const noexcept override;
  uint64_t GlobalPosition(uint64_t position) const noexcept override;
  uint64_t At(uint64_t epoch, uint64_t position) const noexcept override;

 private:
  Options options_;
};

// The order that a loader with these options has over a source of `size` samples; what is left of it after `done`.
std::shared_ptr<const Sampler> MakeSampler(const LoaderOptions& options, uint64_t size, uint64_t done = 0);

// A list of ids for one epoch; the epoch's number only turns the dice.
class ListOrder final : public Order {
 public:
  // `ids` of a source of `size` samples, any of them as often as it comes; throws std::invalid_argument naming the
  // place of one that is not in it. The list's place n counts as position done + n * world_size + rank of all ranks.
  ListOrder(std::vector<uint32_t> ids, uint64_t size, int32_t rank = 0, int32_t world_size = 1, uint64_t done = 0);

  uint64_t positions() const noexcept override { return ids_.size(); }
  uint64_t GlobalPosition(uint64_t position) const noexcept override { return done_ + position * world_size_ + rank_; }
  uint64_t At(uint64_t, uint64_t position) const noexcept override { return ids_[position]; }

 private:
  const std::vector<uint32_t> ids_;
  const uint64_t rank_;
  const uint64_t world_size_;
  const uint64_t done_;
};

}  // namespace stoker
