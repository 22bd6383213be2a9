// What the stall log still holds, as a picture: who did what when, and which way the critical path took through it.
#pragma once

#include <cstdint>
#include <string>

#include "loader/source.h"
#include "loader/stall_log.h"

namespace stoker {

// Writes a trace of the last batches that were handed over, up to `now_ns`, for Chrome's and Perfetto's viewers: rows
// for the critical path, the consumer, its work on the device, the copy engine, each worker, and as many reads as were
// in flight at once. Slices of the critical path tile the time; arrows lead along it from step to step across the other
// rows. Steps that began earlier are cut at the first batch's request.
// `workers`: decoding threads, 0: the reading thread decodes. Allocates; throws std::system_error naming the path,
// where it then leaves what was there.
// Threads: the caller's of the log.
void WriteTrace(const StallLog& log, const Source& source, uint32_t workers, int64_t now_ns, const std::string& path);

}  // namespace stoker
