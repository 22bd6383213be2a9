// The CPU time of this process and of what it started: its workers, their workers, and those that have ended.
#pragma once

#include <optional>
#include <string>

namespace stoker {

// Since each process began, user and system time.
struct ProcessCpu {
  std::optional<double> own_seconds;
  // With living descendants and the children that anybody among them has waited for. A descendant that nobody waits for
  // takes its time with it, so this may fall. Nothing where the kernel does not name children (CONFIG_PROC_CHILDREN).
  std::optional<double> tree_seconds;
};

// `root` is "/", or a folder with a tree like it. `childless`: the caller knows that there is no child to look for.
// Processes may come and go meanwhile. Blocks no longer than reading /proc takes: some 3 us a thread of the tree.
ProcessCpu ReadProcessCpu(const std::string& root, bool childless);

// Whether the calling process has a child, dead ones that nobody has waited for among them.
bool HasChildren() noexcept;

}  // namespace stoker
