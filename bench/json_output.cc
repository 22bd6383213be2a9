#include "bench/json_output.h"

#include <cerrno>
#include <fstream>
#include <iostream>
#include <system_error>

namespace stoker {

void WriteJson(const std::string& file, const nlohmann::json& json, const std::string& what) {
  const std::string text = json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  if (file == "-") {
    std::cout << text << std::flush;
    return;
  }
  std::ofstream out(file);
  out << text;
  out.flush();
  if (!out) throw std::system_error(errno, std::generic_category(), "cannot write " + what + " to " + file);
}

}  // namespace stoker
