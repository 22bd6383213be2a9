#include "loader/machine/thread_pools.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include "loader/machine/kernel_text.h"

namespace stoker {
namespace {

constexpr const char* kVariables[] = {
    "OMP_NUM_THREADS",  "OMP_PROC_BIND",          "OMP_PLACES",       "OMP_WAIT_POLICY",      "GOMP_CPU_AFFINITY",
    "KMP_AFFINITY",     "KMP_BLOCKTIME",          "MKL_NUM_THREADS",  "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS",
    "BLIS_NUM_THREADS", "OPENCV_FOR_THREADS_NUM", "TORCH_NUM_THREADS"};

struct Library {
  const char* prefix;  // of the file's name
  const char* name;
  bool openmp;
};
constexpr Library kLibraries[] = {{"libgomp.", "GNU OpenMP", true},         {"libgomp-", "GNU OpenMP", true},
                                  {"libiomp5", "Intel OpenMP", true},       {"libomp.", "LLVM OpenMP", true},
                                  {"libomp-", "LLVM OpenMP", true},         {"libopenblas", "OpenBLAS", false},
                                  {"libscipy_openblas", "OpenBLAS", false}, {"libmkl_", "MKL", false},
                                  {"libopencv_core", "OpenCV", false},      {"cv2.", "OpenCV", false},
                                  {"libtorch_cpu.", "PyTorch", false},      {"libtensorflow", "TensorFlow", false},
                                  {"libonnxruntime", "ONNX Runtime", false}};

// The files that are mapped, each once, in the order of their first mapping.
std::vector<std::string> MappedFiles(const std::string& root) {
  std::vector<std::string> files;
  std::ifstream maps(root + "/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const size_t start = line.find('/');
    if (start == std::string::npos) continue;
    std::string file = line.substr(start);
    // A file's mappings follow each other.
    if (files.empty() || files.back() != file) files.push_back(std::move(file));
  }
  std::ranges::sort(files);
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return files;
}

}  // namespace

std::optional<int32_t> ThreadPools::openmp_threads() const {
  for (const auto& [name, value] : variables) {
    if (name != "OMP_NUM_THREADS") continue;
    std::string_view text = value;  // "4,2": the second is for pools within pools
    const auto number = TakeNumber(text);
    if (number && *number > 0 && *number <= 65535) return static_cast<int32_t>(*number);
  }
  return std::nullopt;
}

ThreadPools ReadThreadPools(const std::string& root) {
  ThreadPools pools;
  const std::string status = ReadKernelText(root + "/proc/self/status");
  if (const auto threads = NumberBehind(status, "Threads:"); threads && *threads < int64_t{1} << 31) {
    pools.threads = static_cast<int32_t>(*threads);
  }
  for (const char* name : kVariables) {
    if (const char* value = std::getenv(name)) pools.variables.emplace_back(name, value);
  }
  for (const std::string& file : MappedFiles(root)) {
    const std::string_view name = std::string_view(file).substr(file.rfind('/') + 1);
    for (const Library& library : kLibraries) {
      if (!name.starts_with(library.prefix)) continue;
      if (library.openmp) ++pools.openmp_copies;
      if (std::ranges::find(pools.libraries, library.name) == pools.libraries.end()) {
        pools.libraries.emplace_back(library.name);
      }
    }
  }
  return pools;
}

}  // namespace stoker
