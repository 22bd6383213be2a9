#include "tests/fake_cuda/fake_options.h"

#include <map>
#include <stdexcept>

namespace stoker {
namespace {

SimMode ModeOf(const std::string& name) {
  static const std::map<std::string, SimMode> kModes = {{"modelled", SimMode::kModelled},
                                                        {"lazy", SimMode::kLazy},
                                                        {"eager", SimMode::kEager},
                                                        {"random", SimMode::kRandom}};
  return kModes.at(name);
}

FakeFault FaultOf(const std::string& text) {
  const size_t first = text.find(':');
  const size_t second = text.find(':', first + 1);
  if (first == std::string::npos || second == std::string::npos) throw std::invalid_argument(text);
  return {PlainName(text.substr(0, first)), std::stoull(text.substr(first + 1)),
          static_cast<CuResult>(std::stoi(text.substr(second + 1)))};
}

void Set(FakeOptions& options, const std::string& key, const std::string& value) {
  if (key == "devices") {
    options.devices = std::stoi(value);
  } else if (key == "version") {
    options.version = std::stoi(value);
  } else if (key == "lack") {
    options.lack.insert(PlainName(value));
  } else if (key == "fail") {
    options.faults.push_back(FaultOf(value));
  } else if (key == "mode") {
    options.sim.mode = ModeOf(value);
  } else if (key == "seed") {
    options.sim.seed = std::stoull(value);
  } else if (key == "bytes_per_second") {
    options.sim.bytes_per_second = std::stod(value);
  } else if (key == "latency_ns") {
    options.sim.latency_ns = std::stoll(value);
  } else if (key == "memory_bytes") {
    options.sim.memory_bytes = std::stoull(value);
  } else if (key == "fail_copy_at") {
    options.sim.fail_copy_at = std::stoll(value);
  } else {
    throw std::invalid_argument(key);
  }
}

}  // namespace

std::string PlainName(std::string_view entry) {
  const size_t suffix = entry.rfind("_v");
  return std::string(entry.substr(0, suffix));
}

FakeOptions ParseFakeOptions(std::string_view text) {
  FakeOptions options;
  options.sim.checks = SimChecks::kCollect;
  options.sim.host_may_access = false;
  while (!text.empty()) {
    const std::string word(text.substr(0, text.find(',')));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    const size_t equals = word.find('=');
    try {
      if (equals == std::string::npos) throw std::invalid_argument(word);
      Set(options, word.substr(0, equals), word.substr(equals + 1));
    } catch (const std::logic_error&) {
      throw std::invalid_argument("the fake driver does not understand '" + word + "'");
    }
  }
  return options;
}

}  // namespace stoker
