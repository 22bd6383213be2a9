// Any command line to the parser of `stoker run`.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bench/run_options.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<std::string> words(1);
  for (const char c : std::string_view(reinterpret_cast<const char*>(data), size)) {
    if (c == '\n') {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  CLI::App command;
  stoker::RunCommandLine line;
  line.AddTo(command);
  try {
    std::reverse(words.begin(), words.end());  // CLI11 takes them from the back
    command.parse(words);
    (void)line.Finish();
  } catch (const CLI::ParseError&) {
  } catch (const std::invalid_argument&) {
  }
  return 0;
}
