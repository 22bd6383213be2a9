#include "bench/budget/loader_budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "bench/budget/worker_scratch.h"
#include "loader/monitor/live_feed.h"
#include "loader/transfer_plan.h"

namespace stoker {
namespace {

double Product(uint32_t count, size_t bytes) { return static_cast<double>(count) * static_cast<double>(bytes); }

// Memory that io_uring may lock for the reads' sake: beside a device only, see Reader::Options::fixed.
bool LocksReadBuffers(const LoaderOptions& options, const TransferPlan& transfer) {
  return transfer.device != nullptr && options.reader != ReaderKind::kPread;
}

std::vector<Term> TermsOf(const BufferPlan& plan, const LoaderOptions& options, const TransferPlan& transfer) {
  std::vector<Term> terms;
  const bool locked = transfer.device != nullptr;
  terms.push_back({"host slots", Product(plan.slots, plan.slot_bytes),
                   fmt::format("{} x {} B: prefetch_factor {} + 2, each {} samples of {} B and a few more{}",
                               plan.slots, plan.slot_bytes, options.prefetch_factor, options.batch_size,
                               transfer.written.bytes(), locked ? "; page-locked" : ""),
                   locked ? Place::kLocked : Place::kHost});
  if (plan.device_slots > 0) {
    terms.push_back({"device slots", Product(plan.device_slots, plan.device_slot_bytes),
                     fmt::format("{} x {} B: prefetch_factor {} + 1, each a host slot{}{}", plan.device_slots,
                                 plan.device_slot_bytes, options.prefetch_factor,
                                 transfer.finish ? " and the tensor that a kernel makes of it" : "",
                                 plan.device_is_host ? "; the simulated device's memory is the host's" : ""),
                     plan.device_is_host ? Place::kHost : Place::kVram});
  }
  terms.push_back(
      {"read buffers", Product(plan.read_buffers, plan.read_buffer_bytes),
       fmt::format("{} x {} B: queue_depth {} + 2 x {} workers, each as large as 99 % of the files{}",
                   plan.read_buffers, plan.read_buffer_bytes, options.queue_depth, std::max(options.num_workers, 1),
                   LocksReadBuffers(options, transfer) ? "; page-locked where memlock allows it" : ""),
       LocksReadBuffers(options, transfer) ? Place::kLocked : Place::kHost});
  terms.push_back(
      {"stall log", static_cast<double>(plan.stall_log_bytes),
       fmt::format("records of the last batches' samples, {} of which may be under way", plan.batches_ahead)});
  terms.push_back({"source index", static_cast<double>(plan.source_bytes), "names, sizes and labels of all samples"});
  if (plan.index_bytes > 0) {
    terms.push_back({"row index", static_cast<double>(plan.index_bytes),
                     "where the rows of JPEGs begin, taken as it is learned; lower index_bytes, or --index off"});
  }
  if (options.live_feed) {
    terms.push_back({"live feed", static_cast<double>(kFeedBytes), "for `stoker top`, in /dev/shm"});
  }
  return terms;
}

std::optional<double> DividedBy(std::optional<double> bytes, int32_t ranks) {
  return bytes ? std::optional(*bytes / std::max(ranks, 1)) : std::nullopt;
}

std::string Shared(const char* name, int32_t ranks) {
  return ranks > 1 ? fmt::format("{}, a rank of {}", name, ranks) : name;
}

// The refusal that CheckMemory would give, and what the machine would.
std::vector<Limit> LimitsOf(const LoaderBudget& budget, const LoaderOptions& options, const TransferPlan& transfer,
                            const Room& room) {
  const BufferPlan& plan = budget.plan;
  const std::string smaller = "lower --batch-size, --prefetch-factor, --queue-depth or --num-workers";
  std::vector<Limit> limits = {
      {"--memory-limit", static_cast<double>(plan.host_bytes()), static_cast<double>(options.memory_limit_bytes),
       "raise --memory-limit, or lower --batch-size, --prefetch-factor or --queue-depth"},
      {Shared("free RAM", room.ranks), budget.host_bytes(), DividedBy(room.free_bytes, room.ranks),
       smaller + ", or see who has it (ps aux --sort -rss)"},
      {Shared("container", room.ranks), budget.host_bytes(), DividedBy(room.container_bytes, room.ranks),
       smaller + ", or raise the container's limit (docker run --memory)"}};
  if (LocksReadBuffers(options, transfer)) {
    limits.push_back({"memlock", Product(plan.read_buffers, plan.read_buffer_bytes), room.memlock_bytes,
                      fmt::format("ulimit -l {} (docker run --ulimit memlock=-1), a lower --queue-depth, or --reader "
                                  "pread; as it is the loader runs, and each read locks its own pages",
                                  plan.read_buffers * plan.read_buffer_bytes / 1024 + 1)});
  }
  if (transfer.upload) {
    size_t free_bytes = 0;
    const DeviceScope scope(*transfer.device);
    const bool known = !scope.error() && !transfer.device->FreeMemory(free_bytes);
    limits.push_back({"free on " + transfer.device->info().name, Product(plan.device_slots, plan.device_slot_bytes),
                      known ? std::optional(static_cast<double>(free_bytes)) : std::nullopt,
                      "lower --batch-size or --prefetch-factor, or see who has it (nvidia-smi)"});
  }
  return limits;
}

}  // namespace

double LoaderBudget::SumAt(Place place) const {
  double sum = 0;
  for (const Term& term : terms) sum += term.place == place ? term.bytes : 0;
  return sum;
}

bool LoaderBudget::fits() const { return std::ranges::all_of(limits, &Limit::fits); }

Room RoomOf(const Overview& overview) {
  const auto real = [](std::optional<int64_t> bytes) {
    return bytes ? std::optional(static_cast<double>(*bytes)) : std::nullopt;
  };
  const MemoryOverview& memory = overview.memory;
  return {real(memory.available_bytes), real(memory.headroom_bytes), real(memory.memlock_bytes),
          overview.cpu.local_ranks};
}

LoaderBudget PlanLoader(const LoaderOptions& given_options, const Source& source, const PictureSizes& pictures,
                        const Room& room, std::unique_ptr<Device> given) {
  const LoaderOptions options = Resolve(given_options);
  const CompiledRecipe recipe(options.recipe, options.fixed_size);
  const TransferPlan transfer = PlanTransfer(options, recipe.spec(), std::move(given));
  LoaderBudget budget;
  budget.plan = PlanBuffers(options, source, transfer);
  budget.terms = TermsOf(budget.plan, options, transfer);
  budget.terms.push_back(WorkerScratch(options, recipe, pictures));
  budget.scratch_bytes = budget.terms.back().bytes;
  budget.limits = LimitsOf(budget, options, transfer, room);
  return budget;
}

}  // namespace stoker
