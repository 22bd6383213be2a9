// A trace as a viewer reads it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace stoker {

struct ReadSlice {
  std::string name;
  int64_t from_ns = 0, to_ns = 0;
  nlohmann::json args;
};

struct ReadArrow {
  std::string from_row, to_row;
  int64_t leaves_ns = -1, arrives_ns = -1;
};

struct ReadTrace {
  int64_t begin_ns = 0;
  std::vector<std::string> rows = {};                         // in their order
  std::map<std::string, std::vector<ReadSlice>> slices = {};  // of each, in the order of time
  std::map<int64_t, ReadArrow> arrows = {};                   // by number

  // Null where the row has none at that moment.
  const ReadSlice* At(const std::string& row, int64_t ns) const {
    for (const ReadSlice& slice : slices.at(row)) {
      if (slice.from_ns <= ns && ns < slice.to_ns) return &slice;
    }
    return nullptr;
  }
};

// Times count from the trace's beginning. Every event must be of a kind that is expected, in a row that has a name.
inline ReadTrace ReadTraceFile(const std::string& path) {
  const nlohmann::json json = nlohmann::json::parse(std::ifstream(path));
  ReadTrace trace{json["otherData"]["begin_ns"]};
  std::map<int64_t, std::string> names;
  // As Perfetto reads them.
  const auto ns = [](const nlohmann::json& microseconds) {
    return static_cast<int64_t>(microseconds.get<double>() * 1000);
  };
  for (const nlohmann::json& event : json["traceEvents"]) {
    const std::string kind = event["ph"];
    if (kind == "M") {
      if (event["name"] != "thread_name") continue;
      names[event["tid"]] = event["args"]["name"];
      trace.rows.push_back(event["args"]["name"]);
      trace.slices[trace.rows.back()];
      continue;
    }
    const std::string& row = names.at(event["tid"]);
    if (kind == "X") {
      const int64_t from = ns(event["ts"]);
      trace.slices[row].push_back({event["name"], from, from + ns(event["dur"]), event["args"]});
    } else if (kind == "s") {
      trace.arrows[event["id"]].from_row = row;
      trace.arrows[event["id"]].leaves_ns = ns(event["ts"]);
    } else {
      EXPECT_EQ(kind, "f");
      EXPECT_EQ(event["bp"], "e");
      trace.arrows[event["id"]].to_row = row;
      trace.arrows[event["id"]].arrives_ns = ns(event["ts"]);
    }
  }
  for (auto& [row, slices] : trace.slices) std::ranges::stable_sort(slices, {}, &ReadSlice::from_ns);
  return trace;
}

}  // namespace stoker
