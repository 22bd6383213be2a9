#include "bench/sweep/peers.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "bench/run_command.h"

namespace stoker {
namespace {

// Beside the program: in the build tree, in an installation and in the wheel alike.
std::filesystem::path PeersFolder() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "share/stoker/peers";
}

}  // namespace

int RunPeers(const SweepOptions& options) {
  const std::filesystem::path program = PeersFolder() / "compare.py";
  if (!std::filesystem::exists(program)) {
    fmt::print(stderr, "stoker: --peers: there is no {}\n", program.string());
    return kExitFailed;
  }
  if (options.job.path.empty()) throw std::invalid_argument("--peers wants a folder, not --list");
  std::vector<std::string> words = {options.python, program.string(), options.job.path, "--batch-size",
                                    std::to_string(options.job.loader.batch_size)};
  words.insert(words.end(), options.peers_arguments.begin(), options.peers_arguments.end());
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  throw std::system_error(errno, std::generic_category(), "--python " + options.python);
}

}  // namespace stoker
