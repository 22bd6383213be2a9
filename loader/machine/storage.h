// Where a data set lies: the file system and the device below it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace stoker {

enum class StorageKind : uint8_t {
  kUnknown,
  kNvme,
  kSolidState,  // another disk without moving parts
  kRotational,
  kVirtual,    // a virtual machine's disk, which does not say what is behind it
  kNetwork,    // the files are on another machine
  kUserSpace,  // FUSE: a process here serves the files, mostly from an object store
  kShared,     // a folder of the host of this virtual machine
  kMemory,
  kOverlay,  // the container's own layers; the disk below them is not to be seen
};

struct Storage {
  std::string path = {};         // absolute, links followed
  std::string file_system = {};  // "ext4"; empty where it is not known
  std::string mount_point = {};
  std::string source = {};  // what is mounted: "/dev/nvme0n1p1", "server:/export"
  std::string disk = {};    // "nvme0n1"; empty where there is none
  StorageKind kind = StorageKind::kUnknown;
  std::optional<int64_t> free_bytes = {};  // for this user
};

// `root` is "/", or a folder with a tree like it, whose mounts and disks count; `path` itself is one of this machine.
Storage ReadStorage(const std::string& root, const std::string& path);

// "a spinning disk"
const char* StorageWords(StorageKind) noexcept;

}  // namespace stoker
