// The runs of a sweep in a file, each a line as soon as it is over: what a sweep that was broken off goes on from.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "loader/tuning/setting.h"

namespace stoker {

// Runs belong to a part, a number: each part asks for its runs in the same order again.
class RunLog {
 public:
  // Begins `file` with `header`, which tells one sweep from another. With `resume` it goes on with what the file holds:
  // a last line that was cut is dropped. Throws std::invalid_argument where it holds another sweep's runs, or, without
  // `resume`, those of one that is not over; std::system_error where it cannot be read or written.
  RunLog(std::filesystem::path file, const nlohmann::json& header, bool resume);

  // The next run of `part` that was already made, if there is one; moves behind it.
  std::optional<Measurement> Take(int part);
  // Throws std::system_error where there is no room; the run is then kept by the caller alone.
  void Add(int part, const Measurement& measurement);
  // What `part` has so far does not count: it begins again.
  void Restart(int part);
  // All parts are over.
  void End();

  int taken() const { return taken_; }

 private:
  void Read(const nlohmann::json& header);
  void Write(const nlohmann::json& line);

  const std::filesystem::path file_;
  std::ofstream out_;
  std::map<int, std::vector<Measurement>> runs_;
  std::map<int, size_t> next_;
  int taken_ = 0;
};

}  // namespace stoker
