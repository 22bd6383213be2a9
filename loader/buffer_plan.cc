#include "loader/buffer_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "loader/error.h"
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
  return plan;
}

void CheckMemory(const BufferPlan& plan, const LoaderOptions& options) {
  const auto wanted = static_cast<int64_t>(plan.host_bytes());
  if (wanted <= options.memory_limit_bytes) return;
  throw Error(std::make_error_code(std::errc::not_enough_memory), "start", "", -1,
              fmt::format("the buffers need {} bytes ({} slots of {}, {} read buffers of {}), the limit is {}: raise "
                          "memory_limit, or lower batch_size, prefetch_factor or queue_depth",
                          wanted, plan.slots, plan.slot_bytes, plan.read_buffers, plan.read_buffer_bytes,
                          options.memory_limit_bytes));
}

}  // namespace stoker
