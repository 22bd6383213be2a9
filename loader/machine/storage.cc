#include "loader/machine/storage.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <system_error>
#include <vector>

#include "loader/machine/kernel_text.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxStack = 8;  // disks on disks

struct Mount {
  std::string number;  // "254:0"
  std::string point;
  std::string file_system;
  std::string source;
};

// mountinfo writes blanks, tabs, line ends and backslashes as \040 and so on.
std::string Unescape(std::string_view text) {
  std::string plain;
  const auto octal = [](char c) { return c >= '0' && c <= '7'; };
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && octal(text[i + 1]) && octal(text[i + 2]) && octal(text[i + 3])) {
      plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

// "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw" (proc(5)); any number of fields before the dash.
bool ParseMount(const std::string& line, Mount& mount) {
  std::istringstream words(line);
  std::string unused, point, word, source;
  if (!(words >> unused >> unused >> mount.number >> unused >> point >> unused)) return false;
  while (words >> word && word != "-") continue;
  if (!(words >> mount.file_system)) return false;
  words >> source;
  mount.point = Unescape(point);
  mount.source = Unescape(source);
  return true;
}

bool IsBelow(std::string_view path, std::string_view folder) {
  if (folder == "/") return path.starts_with('/');
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

// The mount that `path` lies on: the deepest, and of several on one point the last, which hides the others.
Mount MountOf(const std::string& root, const std::string& path) {
  Mount found;
  std::istringstream lines(ReadKernelText(root + "/proc/self/mountinfo"));
  for (std::string line; std::getline(lines, line);) {
    Mount mount;
    if (ParseMount(line, mount) && IsBelow(path, mount.point) && mount.point.size() >= found.point.size()) {
      found = mount;
    }
  }
  return found;
}

StorageKind KindOfFileSystem(std::string_view name) {
  constexpr std::array kNetwork = {
      "nfs",    "nfs4",  "cifs",  "smb3",      "ceph",  "lustre",         "gpfs",       "beegfs",    "afs",
      "wekafs", "panfs", "pvfs2", "glusterfs", "ocfs2", "fuse.glusterfs", "fuse.sshfs", "fuse.ceph", "fuse.ceph-fuse"};
  constexpr std::array kShared = {"9p", "virtiofs", "vboxsf", "drvfs", "fuse.vmhgfs-fuse", "prl_fs"};
  const auto is_one_of = [name](const auto& names) { return std::ranges::find(names, name) != names.end(); };
  if (is_one_of(kNetwork)) return StorageKind::kNetwork;
  if (is_one_of(kShared)) return StorageKind::kShared;
  if (name == "tmpfs" || name == "ramfs") return StorageKind::kMemory;
  if (name == "overlay" || name == "aufs" || name == "fuse.fuse-overlayfs") return StorageKind::kOverlay;
  if (name.starts_with("fuse") && name != "fuseblk" && name != "fusectl") return StorageKind::kUserSpace;
  return StorageKind::kUnknown;
}

// The folder in /sys of the disk that a mount is on; empty where there is none. A btrfs or ZFS has a device number of
// its own: there the source's name counts.
fs::path DiskFolder(const std::string& root, const Mount& mount) {
  std::error_code error;
  fs::path folder = fs::canonical(root + "/sys/dev/block/" + mount.number, error);
  if (error) {
    folder = fs::canonical(root + "/sys/class/block/" + fs::path(mount.source).filename().string(), error);
    if (error || !mount.source.starts_with("/dev/")) return {};
  }
  // A partition lies in its disk's folder.
  if (fs::exists(folder / "partition", error)) folder = folder.parent_path();
  return folder;
}

StorageKind KindOfDisk(const fs::path& folder, int depth = 0) {
  const std::string name = folder.filename().string();
  std::error_code error;
  // What is stacked (LVM, encryption, RAID) is as its first part is.
  const fs::directory_iterator slaves(folder / "slaves", error);
  if (!error && slaves != fs::directory_iterator() && depth < kMaxStack) {
    const fs::path part = fs::canonical(slaves->path(), error);
    if (!error) return KindOfDisk(part, depth + 1);
  }
  if (name.starts_with("nvme")) return StorageKind::kNvme;
  // These say "rotational" whatever they are.
  for (const char* prefix : {"vd", "xvd"}) {
    if (name.starts_with(prefix)) return StorageKind::kVirtual;
  }
  const auto rotational = ReadKernelLine(folder / "queue/rotational");
  if (rotational == "0") return StorageKind::kSolidState;
  return rotational == "1" ? StorageKind::kRotational : StorageKind::kUnknown;
}

}  // namespace

Storage ReadStorage(const std::string& root, const std::string& path) {
  Storage storage;
  std::error_code error;
  const fs::path absolute = fs::weakly_canonical(fs::absolute(path, error), error);
  storage.path = error ? path : absolute.string();
  const Mount mount = MountOf(root, storage.path);
  storage.file_system = mount.file_system;
  storage.mount_point = mount.point;
  storage.source = mount.source;
  storage.kind = KindOfFileSystem(mount.file_system);
  if (storage.kind == StorageKind::kUnknown) {
    if (const fs::path disk = DiskFolder(root, mount); !disk.empty()) {
      storage.disk = disk.filename().string();
      storage.kind = KindOfDisk(disk);
    }
  }
  struct statvfs room = {};
  if (statvfs(storage.path.c_str(), &room) == 0) {
    storage.free_bytes = static_cast<int64_t>(room.f_bavail) * static_cast<int64_t>(room.f_frsize);
  }
  return storage;
}

const char* StorageWords(StorageKind kind) noexcept {
  switch (kind) {
    case StorageKind::kUnknown:
      return "of an unknown kind";
    case StorageKind::kNvme:
      return "NVMe";
    case StorageKind::kSolidState:
      return "solid state";
    case StorageKind::kRotational:
      return "a spinning disk";
    case StorageKind::kVirtual:
      return "a virtual disk";
    case StorageKind::kNetwork:
      return "a network file system";
    case StorageKind::kUserSpace:
      return "served by a process (FUSE)";
    case StorageKind::kShared:
      return "a folder of the virtual machine's host";
    case StorageKind::kMemory:
      return "in memory";
    case StorageKind::kOverlay:
      return "the container's own layers";
  }
  return "";
}

}  // namespace stoker
