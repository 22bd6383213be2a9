// Who else has threads in this process: OpenMP, BLAS, OpenCV, PyTorch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace stoker {

struct ThreadPools {
  std::optional<int32_t> threads;  // of this process, now
  // The variables that size and place pools, with their values, of those that are set.
  std::vector<std::pair<std::string, std::string>> variables;
  // Loaded libraries that have a pool of their own, "GNU OpenMP"; each once, however many copies are loaded.
  std::vector<std::string> libraries;
  int32_t openmp_copies = 0;  // OpenMP libraries loaded: each makes its own threads

  // The number in OMP_NUM_THREADS; nothing where it is not set or odd.
  std::optional<int32_t> openmp_threads() const;
};

// `root` is "/", or a folder with a tree like it; variables are those of this process.
ThreadPools ReadThreadPools(const std::string& root);

}  // namespace stoker
