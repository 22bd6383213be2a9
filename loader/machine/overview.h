// The machine as a loader finds it when it starts: what there is, what of it this process may use, and what does not
// fit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "loader/machine/storage.h"
#include "loader/machine/thread_pools.h"
#include "loader/machine/uring_state.h"
#include "transfer/nvml.h"

namespace stoker {

// What the caller knows and the machine does not.
struct OverviewRequest {
  std::string data_path = {};  // of the data set, a folder or file; empty: nothing is said of it
  int32_t num_workers = 0;     // decoding threads; 0: not known
  std::string device = "cpu";  // as LoaderOptions::device; for "cpu" and "sim" no CUDA driver is loaded
  int64_t planned_bytes = 0;   // host memory that the loader will take; 0: not known
  int64_t locked_bytes = 0;    // of it, what io_uring is to lock
  // Of PyTorch and OpenCV, where the caller is Python.
  std::optional<int32_t> torch_threads = {};
  std::optional<int32_t> torch_interop_threads = {};
  std::optional<int32_t> opencv_threads = {};
};

struct CpuOverview {
  std::string model;
  std::vector<int32_t> online;     // CPUs of the machine; empty where it is not known
  std::vector<int32_t> allowed;    // that the affinity mask leaves this process
  std::optional<double> quota;     // of the container, in CPUs
  int32_t local_ranks = 1;         // processes of this job here
  std::string clock_source;        // "tsc"
  int32_t usable() const;          // allowed, cut by the quota; at least 1
  int32_t usable_by_rank() const;  // at least 1
};

struct MemoryOverview {
  std::optional<int64_t> total_bytes = {};  // of the machine
  std::optional<int64_t> available_bytes = {};
  std::optional<int64_t> headroom_bytes = {};  // what the container's limit leaves
  std::optional<int64_t> memlock_bytes = {};   // what this process may lock; nothing: as much as there is
};

struct NumaNode {
  int32_t id = 0;
  std::vector<int32_t> cpus = {};
  std::optional<int64_t> memory_bytes = {};
};

// Another process on a GPU.
struct GpuUser {
  int64_t pid = 0;
  std::string name;  // empty: not one of this container, and this process may be behind the host's number
  std::optional<uint64_t> memory_bytes;
};

struct GpuOverview {
  GpuState state;
  int32_t numa_node = -1;  // -1: not known
  bool chosen = false;     // the one that the request's device means
  std::vector<GpuUser> others;
};

struct Overview {
  OverviewRequest request;
  std::string kernel;  // "Linux 6.18.44"
  CpuOverview cpu;
  MemoryOverview memory;
  std::vector<NumaNode> nodes;  // those with memory or CPUs

  std::vector<GpuOverview> gpus;  // that NVML shows
  int32_t nvidia_cards = 0;       // on the PCI bus, with a driver or without
  std::string nvml_refusal;       // why no GPU can be watched; empty where they can
  std::string driver_version;     // of NVIDIA's driver; empty where there is none
  bool cuda_tried = false;        // the driver was asked for the device
  std::string cuda_refusal;       // why the device cannot be had; empty where it can
  std::optional<std::string> cuda_visible_devices;

  UringState uring;
  std::optional<Storage> storage;  // where the request has a path
  ThreadPools pools;
};

// Looks at everything; `root` is "/", or a folder with a tree like it. Never fails: what cannot be read is not there.
// Takes some milliseconds, and with a GPU what its driver takes to start. Any thread.
Overview ReadOverview(const OverviewRequest& request, const std::string& root = "/", const Nvml& nvml = Nvml::Get());

enum class Outcome : uint8_t { kOk, kWarning, kUnknown };

// One thing looked at.
struct Check {
  std::string name;  // "workers"
  Outcome outcome = Outcome::kOk;
  std::string found;   // one clause
  std::string remedy;  // what to do; only for a warning
};
// Every check that the overview allows, in a fixed order. Pure.
std::vector<Check> CheckOverview(const Overview& overview);
// Those that are warnings.
std::vector<Check> Warnings(const Overview& overview);

// In words, lines that end in '\n': the five that matter and the warnings, or the whole of it with every check. Pure.
std::string FormatOverview(const Overview& overview, bool whole);

}  // namespace stoker
