// What a loader will take, known before it takes it, and whether that fits the machine.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/budget/picture_sizes.h"
#include "bench/budget/term.h"
#include "loader/buffer_plan.h"
#include "loader/machine/overview.h"
#include "loader/options.h"
#include "loader/source.h"
#include "transfer/device.h"

namespace stoker {

// What a part of the budget has to fit into.
struct Limit {
  std::string name;
  double needed_bytes = 0;
  std::optional<double> allowed_bytes = {};  // nothing: there is none, or it is not known
  std::string remedy;                        // what to do where it does not fit

  bool fits() const { return !allowed_bytes || needed_bytes <= *allowed_bytes; }
};

struct LoaderBudget {
  BufferPlan plan;           // the very one that the loader makes
  double scratch_bytes = 0;  // the workers', an estimate
  std::vector<Term> terms;
  std::vector<Limit> limits;

  // As StallReport::budget_bytes will tell once all pictures were met.
  double budget_bytes() const { return static_cast<double>(plan.host_bytes()) + scratch_bytes; }
  double SumAt(Place place) const;
  double host_bytes() const { return SumAt(Place::kHost) + SumAt(Place::kLocked); }
  bool fits() const;
};

// What is left of the machine for a loader.
struct Room {
  std::optional<double> free_bytes = {};       // RAM
  std::optional<double> container_bytes = {};  // that the container's limit leaves
  std::optional<double> memlock_bytes = {};
  int32_t ranks = 1;  // loaders like this one that share RAM and container
};
Room RoomOf(const Overview& overview);

// The budget of Loader(options, source): by the functions that its constructor calls, but for the workers' scratch,
// which `pictures` (some of the source's) let it estimate. Opens the device, and asks it for its free
// memory; allocates nothing. `given`: in place of the device that the options name, for tests.
// Throws what the loader's constructor throws, but for a lack of memory, which is a limit that does not fit.
LoaderBudget PlanLoader(const LoaderOptions& options, const Source& source, const PictureSizes& pictures,
                        const Room& room, std::unique_ptr<Device> given = nullptr);

}  // namespace stoker
