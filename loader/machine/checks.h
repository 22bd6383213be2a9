// The checks of an overview by what they look at; each appends what it finds. Pure; used by CheckOverview alone.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "loader/machine/overview.h"

namespace stoker {

inline Check Ok(const char* name, std::string found) { return {name, Outcome::kOk, std::move(found), ""}; }
inline Check Unknown(const char* name, std::string found) { return {name, Outcome::kUnknown, std::move(found), ""}; }
inline Check Warning(const char* name, std::string found, std::string remedy) {
  return {name, Outcome::kWarning, std::move(found), std::move(remedy)};
}

void CheckCpus(const Overview& overview, std::vector<Check>& checks);
void CheckThreadPools(const Overview& overview, std::vector<Check>& checks);
void CheckMemory(const Overview& overview, std::vector<Check>& checks);
void CheckStorage(const Overview& overview, std::vector<Check>& checks);
void CheckGpus(const Overview& overview, std::vector<Check>& checks);

}  // namespace stoker
