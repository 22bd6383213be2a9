// How busy the CPUs are that this process may use, by anybody: whether a run had them to itself.
#pragma once

#include <sys/resource.h>

#include <string>

namespace stoker {

struct BusyCpus {
  double at_seconds = 0;    // on the steady clock
  double busy_seconds = 0;  // of all of them together since boot; 0: not known
};

// `stat`: /proc/stat, or a file like it.
BusyCpus ReadBusyCpus(const std::string& stat = "/proc/stat");

// CPUs that were busy on average between the two with something other than what `used` counts; 0 where it is not known.
double ForeignCpus(const BusyCpus& before, const BusyCpus& after, const rusage& used);

}  // namespace stoker
