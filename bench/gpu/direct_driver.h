// The driver's entry points looked up one by one, past the table that the project goes through: to hold that against
// them, and for what only a measurement asks.
#pragma once

#include "transfer/cuda_api.h"

namespace stoker {

class DirectDriver {
 public:
  // Throws std::runtime_error where there is no driver.
  DirectDriver();

  CuResult (*event_query)(CuEvent event) = nullptr;

  int version() const noexcept;
  // What the memory of a device could deliver at its clock's rate, on all of its pins; 0 where the driver does not say.
  double MemoryBytesPerSecond(int device) const noexcept;

 private:
  int Attribute(int attribute, int device) const noexcept;

  CuResult (*get_version_)(int* version) = nullptr;
  CuResult (*get_attribute_)(int* value, int attribute, CuDevice device) = nullptr;
};

}  // namespace stoker
