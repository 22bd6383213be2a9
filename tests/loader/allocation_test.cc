// Streaming allocates nothing: every operator new of the process is counted.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <utility>

#include "loader/file_source.h"
#include "loader/loader.h"
#include "loader/seams.h"
#include "tests/loader/picture_folder.h"

namespace {

std::atomic<int64_t> allocations{0};

void* Counted(std::size_t bytes, std::size_t alignment) noexcept {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (alignment <= alignof(std::max_align_t)) return std::malloc(bytes > 0 ? bytes : 1);
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

void* CountedOrThrow(std::size_t bytes, std::size_t alignment) {
  void* memory = Counted(bytes, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

constexpr std::size_t Number(std::align_val_t alignment) { return static_cast<std::size_t>(alignment); }

}  // namespace

// All of them: what one of these allocates, any of the others may free.
void* operator new(std::size_t bytes) { return CountedOrThrow(bytes, 0); }
void* operator new[](std::size_t bytes) { return CountedOrThrow(bytes, 0); }
void* operator new(std::size_t bytes, std::align_val_t alignment) { return CountedOrThrow(bytes, Number(alignment)); }
void* operator new[](std::size_t bytes, std::align_val_t alignment) { return CountedOrThrow(bytes, Number(alignment)); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return Counted(bytes, 0); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return Counted(bytes, 0); }
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return Counted(bytes, Number(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return Counted(bytes, Number(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace stoker {
namespace {

TEST(Streaming, ComesToAllocateNothingOver100Batches) {
  const TempFolder folder;
  // All of one size, and a recipe without random sizes: scratch memory grows to the largest seen, which a worker may
  // meet late otherwise.
  for (uint32_t i = 0; i < 40; ++i) {
    folder.Write("a/" + std::to_string(i) + ".jpg", EncodeJpeg(MakePicture({120, 90}, 3, i)));
  }
  for (const std::string device : {"cpu", "sim"}) {
    for (const ReaderKind reader : {ReaderKind::kAuto, ReaderKind::kPread}) {
      LoaderOptions options;
      options.batch_size = 4;
      options.recipe = EvalRecipe(32, ElementType::kFloat32);
      options.num_workers = kAutoWorkers;
      options.read_deadline_seconds = 3000;
      options.device = device;
      options.reader = reader;
      options.report_every = 0;  // a report is a text: it allocates
      options.live_feed = false;
      LoaderSeams seams;
      seams.most_workers = [] { return 2; };
      seams.now = []() noexcept { return 100 * SteadyNow(); };  // their number is looked at every few epochs
      Loader loader(options, OpenFolder(folder.string()), std::move(seams));
      // A worker may meet its first sample late where the machine is busy: so the first quiet stretch counts. What
      // allocates while streaming never has one.
      bool quiet = false;
      for (int stretch = 0; stretch < 20 && !quiet; ++stretch) {
        const int64_t before = allocations.load();
        for (int epoch = 0; epoch < 10; ++epoch) {
          while (loader.Next()) {
          }
        }
        quiet = allocations.load() == before;
      }
      EXPECT_TRUE(quiet) << device << " " << ReaderName(reader);
    }
  }
}

}  // namespace
}  // namespace stoker
