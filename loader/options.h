// Every knob of a loader: unit, range, default and why.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "augment/recipe.h"
#include "decode/decoder.h"

namespace stoker {

struct StepReport;

// As num_workers: up to DefaultWorkers(), and while running no more of them than the caller keeps busy.
inline constexpr int32_t kAutoWorkers = -1;

enum class OnError : uint8_t {
  kRaise,  // Next() throws for the batch that holds the bad sample
  kSkip,   // the next good sample of the shard takes its place (and so comes twice in that epoch)
  kMask,   // zeros, and false in the batch's validity
};
enum class DecodeMode : uint8_t {
  kExact,  // the bits of a full decode
  kFast,   // JPEGs may be decoded at a DCT scale that keeps the output's size: see the README for the error
};
enum class ReaderKind : uint8_t {
  kAuto,  // what the page cache holds is read at once, the rest by io_uring, or by the pread pool where that is missing
  kUring,  // io_uring only
  kPread,  // a pool of threads that open, pread and close
};
enum class NormalizeOn : uint8_t {
  kAuto,    // the device where it can, which costs less on both sides of the bus, else the host
  kHost,    // the workers write what the batch holds
  kDevice,  // bytes cross the bus, and a kernel writes the floats
};

// A plain struct, filled with designated initialisers. The names are PyTorch's where PyTorch has the idea.
struct LoaderOptions {
  // -- What a batch is ------------------------------------------------------------------------------------------------
  int32_t batch_size = 64;  // samples, 1 to 65536
  bool drop_last = false;   // drop the last, smaller batch (and the ranks' uneven rest)
  Recipe recipe = TrainRecipe(224, ElementType::kUint8);
  std::optional<ImageSize> fixed_size = {};  // what a recipe without a size of its own must give, in pixels
  DecodeMode decode = DecodeMode::kExact;

  // -- Order ----------------------------------------------------------------------------------------------------------
  bool shuffle = true;
  uint64_t seed = 0;       // order and augmentation are functions of (seed, epoch, position)
  int32_t rank = 0;        // 0 to world_size - 1
  int32_t world_size = 1;  // every rank gets the same number of samples, as DistributedSampler gives them

  // -- Bad samples ----------------------------------------------------------------------------------------------------
  OnError on_error = OnError::kRaise;
  int64_t max_errors = -1;                      // different bad samples before Next() throws all the same; -1: no limit
  DecodeLimits limits = {};                     // pixels a picture, EXIF orientation, strictness
  int64_t max_file_bytes = int64_t{256} << 20;  // encoded bytes a sample: larger ones are errors, never allocated

  // -- Speed and memory -----------------------------------------------------------------------------------------------
  int32_t num_workers = kAutoWorkers;  // decoding threads, up to 512; 0: decode on the feeder thread
  int32_t prefetch_factor =
      2;  // batches ready or being filled ahead of the consumer, 1 to 64, for all workers together
  ReaderKind reader = ReaderKind::kAuto;
  int32_t queue_depth = 32;  // reads in flight, 1 to 1024: deep, because cold storage answers late and out of order
  // Where batches are delivered. "cpu": host memory, nothing is copied; "cuda", "cuda:N" or a GPU's UUID; "auto": a GPU
  // where there is one, else the cpu; "sim": a device on the host with a modelled copy engine.
  std::string device = "auto";
  NormalizeOn normalize_on = NormalizeOn::kAuto;
  // A device's name: batches stay in host memory, page-locked for copies to that device which the caller makes itself,
  // and a batch that comes back is used again when the work that the stream given to Next() had then is done.
  // Empty: not so. Overrides `device`.
  std::string pin_memory_for = {};
  // Decode on the CPUs of the NUMA node next to the GPU, where this process may use some of them; page-locked memory is
  // taken from that node always. False: on all CPUs, which is faster where the node's cannot keep up.
  bool near_device = true;
  // Where the caller keeps more batches than there are slots: true adds slots beyond the budget (counted in the
  // report), in host memory only; false makes Next() throw kAllSlotsHeld.
  bool grow_slots = false;
  // For all buffers; 0: a quarter of what the machine or container has free, and of page-locked memory, which nobody
  // else can have, no more than 4 GiB.
  int64_t memory_limit_bytes = 0;
  // Where the rows of each JPEG begin, learned while decoding, so that later crops of it begin at any row: "memory"
  // until the loader ends; a folder: in a file there, too, for later runs and other ranks (made where it is missing;
  // some 280 bytes a picture); "off", as which it is taken where libjpeg-turbo decodes all (limits.strict, kLibrary).
  // Damaged and stale entries cost time, never a pixel; those made to deceive are not found out: let only those write
  // to the folder who are trusted.
  std::string index = "memory";
  // Of the index in memory, part of memory_limit_bytes; 0: 1 kB a sample, at least 1 MiB, at most 400 MB, an eighth of
  // memory_limit_bytes, and what is left of it. What finds no room there is not learned.
  int64_t index_bytes = 0;
  double read_deadline_seconds = 30;  // a read that takes longer is that sample's error (hung NFS, dying disk)

  // -- Reports --------------------------------------------------------------------------------------------------------
  int64_t report_every = 500;  // batches between two reports; epochs end with one too; 0: none at all
  // Gets them, on the thread that calls Next(), within it. Empty: each is a line on stderr, but for epochs of fewer
  // batches that need no warning.
  std::function<void(const StepReport&)> on_report = {};
  std::string report_file = {};  // and each is added to this file as a line of JSON; empty: none
  // What `stoker top` shows, twice a second while batches are given out, whatever report_every is: 36 kB in /dev/shm,
  // which the user alone may read. Where that cannot be, training goes on without.
  bool live_feed = true;
};

// Throws std::invalid_argument naming the option, its value and what is allowed.
void Validate(const LoaderOptions& options);

// CPUs that this process may use: the affinity mask, cut by the container's quota; at least 1.
int32_t UsableCpus();
// UsableCpus() shared by the processes of this machine (LOCAL_WORLD_SIZE, torchrun's variable); at least 1.
int32_t DefaultWorkers();
// Bytes that may still be taken: what the machine has free, cut by the container's limit.
int64_t AvailableMemoryBytes();

// Validates, and decides what the options leave open: memory_limit_bytes, of kAutoWorkers how many at most, and that
// there is no index where nothing would be learned.
LoaderOptions Resolve(LoaderOptions options, const std::function<int32_t()>& most_workers = DefaultWorkers);

std::string_view OnErrorName(OnError) noexcept;
std::string_view ReaderName(ReaderKind) noexcept;

}  // namespace stoker
