// One line of a budget: what takes memory, how much, and why that much.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stoker {

enum class Place : uint8_t {
  kHost,
  kLocked,  // host memory that is page-locked
  kVram,
};

struct Term {
  std::string name;
  double bytes = 0;
  std::string formula;  // with the numbers filled in
  Place place = Place::kHost;
  bool estimate = false;  // false: what will be taken, to the byte
};

inline double SumOf(const std::vector<Term>& terms) {
  double sum = 0;
  for (const Term& term : terms) sum += term.bytes;
  return sum;
}

}  // namespace stoker
