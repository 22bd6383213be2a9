#include "loader/machine/uring_state.h"

#include <chrono>

#include "loader/machine/kernel_text.h"
#include "loader/reader.h"

namespace stoker {
namespace {

constexpr uint32_t kProbeDepth = 2;

// The reader's self-test reads no sample.
class NoSource final : public Source {
 public:
  uint64_t size() const noexcept override { return 0; }
  int64_t Label(uint64_t) const noexcept override { return -1; }
  std::string Name(uint64_t) const override { return ""; }
  Extents ExtentsOf(uint64_t, const DecodeRequest*) const noexcept override { return {}; }
  bool Path(uint32_t, char*, size_t) const noexcept override { return false; }
  uint64_t TypicalBytes() const noexcept override { return 0; }
  size_t memory_bytes() const noexcept override { return 0; }
};

int64_t SteadyNs() noexcept { return std::chrono::steady_clock::now().time_since_epoch().count(); }

}  // namespace

UringState ReadUringState(const std::string& root) {
  UringState state;
  if (const auto line = ReadKernelLine(root + "/proc/sys/kernel/io_uring_disabled")) {
    std::string_view text = *line;
    state.sysctl = TakeNumber(text);
  }
  state.seccomp_mode = NumberBehind(ReadKernelText(root + "/proc/self/status"), "Seccomp:");
  const NoSource source;
  state.works = MakeUringReader(source, {.queue_depth = kProbeDepth, .now = SteadyNs}, state.reason) != nullptr;
  return state;
}

std::string UringRemedy(const UringState& state) {
  if (state.works) return "";
  if (state.sysctl == 2)
    return "sysctl kernel.io_uring_disabled=0 on the host; until then reads go by a pool of threads";
  if (state.sysctl == 1) {
    return "sysctl kernel.io_uring_disabled=0, or put this user into the group that kernel.io_uring_group names";
  }
  if (state.reason.starts_with("EPERM") && state.seccomp_mode.value_or(2) == 2) {
    return "start the container with a seccomp profile that allows io_uring_setup, io_uring_enter and "
           "io_uring_register "
           "(docker run --security-opt seccomp=PROFILE.json)";
  }
  if (state.reason.starts_with("ENOSYS")) return "a kernel of 5.19 or later; a sandbox such as gVisor has none";
  if (state.reason.starts_with("ENOMEM")) return "raise the memlock limit (ulimit -l, docker run --ulimit memlock=-1)";
  if (state.reason.ends_with("its own program")) return "mount /proc, which the test reads";
  return "nothing is wrong but speed: reads go by a pool of threads";
}

}  // namespace stoker
