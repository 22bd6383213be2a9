#include "loader/buffer_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "loader/error.h"
#include "loader/index/index_keeper.h"
#include "loader/options.h"
#include "loader/source.h"
#include "loader/stall_log.h"
#include "loader/transfer_plan.h"
#include "transfer/ring.h"

namespace stoker {
namespace {

constexpr size_t kPageBytes = 4096;
constexpr size_t kMinReadBufferBytes = size_t{16} << 10;
constexpr size_t kMaxReadBufferBytes = size_t{8} << 20;

// Of the row index, where it is not said: four times what photographs of half a megapixel need, as many as ImageNet has
// without a byte to spare for more.
constexpr size_t kIndexBytesASample = 1024;
constexpr size_t kMinIndexBytes = size_t{1} << 20;
constexpr size_t kMaxIndexBytes = 400'000'000;
constexpr size_t kIndexShare = 8;  // of the memory limit, as a divisor

// `others`: what all other buffers take.
size_t IndexBytes(const LoaderOptions& options, const Source& source, size_t others) {
  if (options.index == kNoIndex) return 0;
  if (options.index_bytes > 0) return static_cast<size_t>(options.index_bytes);
  const auto limit = static_cast<size_t>(options.memory_limit_bytes);
  const size_t wanted = std::clamp(source.size() * kIndexBytesASample, kMinIndexBytes, kMaxIndexBytes);
  return std::min({wanted, limit / kIndexShare, limit - std::min(limit, others)});
}

}  // namespace

BufferPlan PlanBuffers(const LoaderOptions& options, const Source& source, const TransferPlan& transfer) {
  BufferPlan plan;
  const auto ahead = static_cast<uint32_t>(options.prefetch_factor);
  plan.slots = ahead + 2;  // being filled or ready: prefetch_factor; one with the caller or the copy; one to start on
  plan.slot_bytes = transfer.layout.bytes();
  if (transfer.upload) {
    plan.device_slots = ahead + 1;  // ready or being copied to, and one with the caller
    plan.device_slot_bytes = plan.slot_bytes + (transfer.finish ? transfer.finish->tensor_bytes : 0);
    plan.device_is_host = transfer.device->info().cuda_index < 0;
  }
  // In flight, and for each worker one being decoded and one waiting.
  plan.read_buffers = static_cast<uint32_t>(options.queue_depth + 2 * std::max(options.num_workers, 1));
  const size_t typical = std::clamp<size_t>(source.TypicalBytes() + 1, kMinReadBufferBytes, kMaxReadBufferBytes);
  plan.read_buffer_bytes = (typical + kPageBytes - 1) / kPageBytes * kPageBytes;
  plan.batches_ahead = (options.grow_slots ? Ring::kMaxIdle : 1) * plan.slots + plan.device_slots + 1;
  plan.stall_log_bytes = StallLog::BytesFor(static_cast<uint32_t>(options.batch_size), plan.batches_ahead);
  plan.source_bytes = source.memory_bytes();
  plan.index_bytes = IndexBytes(options, source, plan.host_bytes());
  return plan;
}

void CheckMemory(const BufferPlan& plan, const LoaderOptions& options) {
  const auto wanted = static_cast<int64_t>(plan.host_bytes());
  if (wanted <= options.memory_limit_bytes) return;
  throw Error(std::make_error_code(std::errc::not_enough_memory), "start", "", -1,
              fmt::format("the buffers need {} bytes ({} slots of {}, {} read buffers of {}, a row index of {}), the "
                          "limit is {}: raise memory_limit, or lower batch_size, prefetch_factor, queue_depth or "
                          "index_bytes",
                          wanted, plan.slots, plan.slot_bytes, plan.read_buffers, plan.read_buffer_bytes,
                          plan.index_bytes, options.memory_limit_bytes));
}

}  // namespace stoker
