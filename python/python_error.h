// Our exceptions as Python's.
#pragma once

#include <string>

#include "loader/error.h"

namespace stoker {

// An Error, and the path that belongs to its sample, as the system has it.
struct LocatedError {
  Error error;
  std::string path;
};

// From here on Error and LocatedError become `stoker.Error` with its fields.
void RegisterErrors();

}  // namespace stoker
