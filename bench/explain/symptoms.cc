#include "bench/explain/symptoms.h"

#include <array>

namespace stoker {
namespace {

using nlohmann::json;

// From these on a figure is worth a row. Stalls and shares as the verdict has them; the rest by the project's articles:
// a GPU below half is idle, a fifth of the time in the run queue hurts, a GPU whose memory is 95 % taken fails next.
constexpr double kStalls = 0.05;
constexpr double kIdleGpuPercent = 50;
constexpr double kIdleCpu = 0.5;
constexpr double kQueueing = 0.2;
constexpr double kFullVram = 0.95;
constexpr double kPressure = 0.1;
constexpr double kLargePart = 0.2;

// The stall report within a line of the periodic one, or `report` itself where it is one.
const json& StallsOf(const json& report) {
  return report.contains("stalls") && report.at("stalls").is_object() ? report.at("stalls") : report;
}
const json& StallsOf(json&& report) = delete;

std::string Text(const json& report, const char* key) {
  const json& stalls = StallsOf(report);
  return stalls.contains(key) && stalls.at(key).is_string() ? stalls.at(key).get<std::string>() : "";
}
bool IsBound(const json& report, std::string_view leader, std::string_view bound) {
  return Text(report, "leader") == leader && Text(report, "bound") == bound;
}
double Number(const json& object, const char* key, double otherwise) {
  return object.contains(key) && object.at(key).is_number() ? object.at(key).get<double>() : otherwise;
}
bool IsFalse(const json& object, const char* key) {
  return object.contains(key) && object.at(key).is_boolean() && !object.at(key).get<bool>();
}
double Stall(const json& report, const char* key) { return Number(StallsOf(report), key, 0); }
double PartOf(const json& report, const char* part) {
  const json& stalls = StallsOf(report);
  return stalls.contains("parts") ? Number(stalls.at("parts"), part, 0) : 0;
}
bool Warns(const json& report, std::string_view words) {
  if (!report.contains("warnings") || !report.at("warnings").is_array()) return false;
  for (const json& warning : report.at("warnings")) {
    if (warning.is_string() && warning.get_ref<const std::string&>().find(words) != std::string::npos) return true;
  }
  return false;
}
double Vram(const json& report) {
  const double total = Number(report, "vram_total_bytes", 0);
  return total > 0 ? Number(report, "vram_used_bytes", 0) / total : 0;
}

const std::array kSymptoms = {
    Symptom{"decode", "The GPU waits, the CPUs are full, and it is this job that fills them",
            "verdict CPU-bound; ceilings: decode is the lowest", "whether num_workers is below the CPUs it may use",
            "stoker doctor PATH",
            "More workers while there are idle CPUs; then smaller pictures on disk, decode=fast, float on the GPU "
            "(device=). pin_memory does not help here.",
            [](const json& r) { return IsBound(r, "decode", "capacity"); }},
    Symptom{
        "starved", "The CPUs are full, but not with this job's work", "verdict CPU-starved; runq; parts: off CPU",
        "who else runs, the container's quota, thread pools", "stoker doctor PATH; cat /proc/pressure/cpu",
        "Fewer workers, not more; a larger quota; OMP_NUM_THREADS=1 where pools pile up; cores of their own for each "
        "rank.",
        [](const json& r) { return IsBound(r, "decode", "starved"); }},
    Symptom{
        "storage", "The GPU waits, the CPUs idle, and reads are always queued",
        "verdict I/O-bound; cache-hit low; io pressure", "the storage's own limit, other users of it",
        "iostat -x 1; stoker doctor PATH",
        "Faster storage, data in the page cache, or fewer bytes; a deeper queue_depth only where the rate follows it. "
        "More workers do not help.",
        [](const json& r) { return IsBound(r, "io", "capacity"); }},
    Symptom{"slow-reads", "The GPU waits now and then, CPU and storage both idle",
            "verdict I/O-bound by delay; busy: io below 0.8", "the slowest reads: network file systems, a dying disk",
            "stoker run PATH --trace trace.json",
            "Read further ahead: prefetch_factor and queue_depth up. No more workers.",
            [](const json& r) { return IsBound(r, "io", "latency"); }},
    Symptom{"page-cache", "Everything is in memory, and reading still takes the time",
            "verdict bound by opening and copying cached files; parts: page cache, open",
            "how large the files are, and how many lie in one folder", "stoker run PATH --epochs 2",
            "Smaller files, or fewer and larger ones.", [](const json& r) { return IsBound(r, "io", "page cache"); }},
    Symptom{"slow-pictures", "The GPU waits now and then, and no worker is full",
            "verdict: decode holds the path, but the workers are not full", "pictures that are much larger than others",
            "stoker run PATH --trace trace.json", "prefetch_factor up, so that a slow picture does not stop its batch.",
            [](const json& r) { return IsBound(r, "decode", "latency"); }},
    Symptom{"copy", "Gaps between the steps, CPU not full: the batch is on its way",
            "verdict copy-bound; stall: device", "link generation and width, dtype of the batch",
            "stoker doctor; nvidia-smi --query-gpu=pcie.link.gen.current,pcie.link.width.current --format=csv",
            "uint8 over the bus (normalize_on=device), a wider slot, memory on the GPU's NUMA node.",
            [](const json& r) { return IsBound(r, "copy", "capacity") || IsBound(r, "copy", "latency"); }},
    Symptom{"contended", "Copies take longer at some times than at others",
            "verdict copy-bound behind others on the link; parts: foreign copies",
            "offloading, checkpoints, other processes on the same link", "nvidia-smi dmon -s t; stoker doctor",
            "Less offloading, or at other times; GPUs on links of their own.",
            [](const json& r) { return IsBound(r, "copy", "contended"); }},
    Symptom{"not-pinned", "Copies are slow and hold the CPU", "the word NOT pinned in every line",
            "the memory lock limit of this process", "ulimit -l; stoker doctor",
            "Raise memlock (docker run --ulimit memlock=-1), or memory_limit down.",
            [](const json& r) { return IsFalse(StallsOf(r), "pinned"); }},
    Symptom{"step", "GPU and its memory are full, steps take long, data is always there",
            "verdict consumer-bound, stall below 5 %", "the step itself", "torch.profiler on a few steps",
            "Leave the loader alone. A faster step: mixed precision, torch.compile, larger batches, another GPU.",
            [](const json& r) { return Text(r, "bound") == "consumer" && Stall(r, "stall_share") < kStalls; }},
    Symptom{"host-gap", "GPU low and CPU low, and the loader is not what holds it back",
            "stall below 5 % and gpu-busy below 50 %, or parts: host gap",
            "calls that wait for the GPU (.item(), .cpu(), print of a tensor), Python between the steps, small batches",
            "torch.profiler: gaps between kernels", "Fewer synchronising calls, larger batches, CUDA graphs.",
            [](const json& r) {
              const bool idle =
                  Number(r, "gpu_busy_percent", 100) < kIdleGpuPercent && Number(r, "cpu_share", 1) < kIdleCpu;
              return Stall(r, "stall_share") < kStalls && (idle || PartOf(r, "host gap") > kLargePart);
            }},
    Symptom{"hand-over", "All is low, with many small steps", "verdict: the loader's own hand-overs",
            "batch_size, and what else the machine does", "stoker doctor",
            "Larger batches; a core that is free for the training loop.",
            [](const json& r) { return Text(r, "bound") == "hand-over"; }},
    Symptom{"mixed", "Whatever is made faster gains little", "verdict mixed: two shares, and their intervals",
            "both of them: the ceilings tell how far each alone would get", "stoker run PATH --report-every 200",
            "Both together; or leave it, where the stall is small.",
            [](const json& r) { return Text(r, "bound") == "mixed"; }},
    Symptom{"slower", "It was faster in the first epochs", "WARNING: steps take longer since epoch N",
            "what began then: heat, another job, memory that grew, a schedule of the training's own",
            "stoker top FILE (of report_file); nvidia-smi -q -d PERFORMANCE",
            "The epoch's line before and after tells "
            "which share grew.",
            [](const json& r) { return Warns(r, "steps take"); }},
    Symptom{"memory-grows", "Memory rises from epoch to epoch", "WARNING: growth outside the loader; rss and its slope",
            "lists of losses, outputs kept in validation, checkpoints copied deep",
            "python -X tracemalloc; heaptrack for native memory",
            "loss.item() and no history, del outputs, a bounded log. The loader's own memory is in the same line.",
            [](const json& r) { return Warns(r, "growth outside the loader"); }},
    Symptom{"loader-memory", "The loader's memory rises",
            "the loader's part of the growth; slots more for kept batches", "batches that the training keeps",
            "loader.stalls().extra_slots", "clone() what is kept; let go of batches.",
            [](const json& r) {
              const json& stalls = StallsOf(r);
              const double kept = stalls.contains("buffers") ? Number(stalls.at("buffers"), "extra_slots", 0) : 0;
              return kept > 0 || Warns(r, "the loader's: batches are kept");
            }},
    Symptom{"ram-short", "The machine stalls now and then, for seconds", "memory pressure above 10 %",
            "what else lives on the machine, the container's limit", "cat /proc/pressure/memory; stoker doctor",
            "memory_limit down, smaller prefetch_factor, no pictures preloaded into lists.",
            [](const json& r) { return Number(r, "memory_pressure", 0) > kPressure; }},
    Symptom{"vram-full", "Out of memory on the GPU, at once or in the middle",
            "vram: used of total; at the first line already: context, model and others",
            "activations (they grow with the batch), other processes on the GPU, models loaded together",
            "stoker doctor (lists who is on the GPU); torch.cuda.memory_summary()",
            "In this order: smaller batch with gradient accumulation, mixed precision, checkpointing, offloading last. "
            "The loader's own part: prefetch_factor slots of a batch. empty_cache() only helps others.",
            [](const json& r) { return Vram(r) > kFullVram; }},
    Symptom{"threads", "The same work takes now this long, now that", "runq above 20 %",
            "threads against CPUs: OpenMP, OpenCV, torch, several ranks", "stoker doctor",
            "torch.set_num_threads and OMP_NUM_THREADS down until all pools together fit the CPUs; affinity.",
            [](const json& r) { return Number(r, "run_queue_share", 0) > kQueueing; }},
    Symptom{"queue", "Latency is high while the CPUs idle", "cpu below 50 % with a stall of 5 % or more",
            "locks, network, disk: what the verdict names", "stoker run PATH --trace trace.json",
            "No more threads; deeper queues, or what it waits for made faster.",
            [](const json& r) { return Number(r, "cpu_share", 1) < kIdleCpu && Stall(r, "stall_share") >= kStalls; }},
};

}  // namespace

std::span<const Symptom> AllSymptoms() { return kSymptoms; }

std::vector<const Symptom*> SymptomsIn(const json& report) {
  std::vector<const Symptom*> shown;
  for (const Symptom& symptom : kSymptoms) {
    if (symptom.shows(report)) shown.push_back(&symptom);
  }
  return shown;
}

}  // namespace stoker
