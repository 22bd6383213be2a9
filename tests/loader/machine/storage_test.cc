#include "loader/machine/storage.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/loader/machine/kernel_tree.h"

namespace stoker {
namespace {

class StorageTest : public testing::Test {
 protected:
  // Mounts `file_system` of `source` at /data, over a root on sda.
  Storage Mounted(const std::string& file_system, const std::string& source, const std::string& number = "0:99") const {
    tree_.Write("proc/self/mountinfo", "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n23 22 " + number +
                                           " / /data rw master:2 propagate_from:3 - " + file_system + " " + source +
                                           " rw\n");
    return ReadStorage(tree_.root(), "/data/set");
  }
  // A disk of the kernel's, with one partition.
  void AddDisk(const std::string& name, const std::string& number, const std::string& rotational) const {
    tree_.Write("sys/devices/" + name + "/queue/rotational", rotational + "\n");
    tree_.Write("sys/devices/" + name + "/" + name + "p1/partition", "1\n");
    tree_.Link("sys/dev/block/" + number, tree_.root() + "/sys/devices/" + name + "/" + name + "p1");
    tree_.Link("sys/class/block/" + name + "p1", tree_.root() + "/sys/devices/" + name + "/" + name + "p1");
  }

  KernelTree tree_;
};

TEST_F(StorageTest, TellsDisksApart) {
  AddDisk("nvme0n1", "259:1", "0");
  AddDisk("sdb", "8:17", "1");
  AddDisk("sdc", "8:33", "0");
  AddDisk("vda", "254:1", "1");
  EXPECT_EQ(Mounted("ext4", "/dev/x", "259:1").kind, StorageKind::kNvme);
  EXPECT_EQ(Mounted("ext4", "/dev/x", "8:17").kind, StorageKind::kRotational);
  EXPECT_EQ(Mounted("xfs", "/dev/x", "8:33").kind, StorageKind::kSolidState);
  EXPECT_EQ(Mounted("ext4", "/dev/x", "254:1").kind, StorageKind::kVirtual) << "rotational says nothing there";
  const Storage storage = Mounted("ext4", "/dev/nvme0n1p1", "259:1");
  EXPECT_EQ(storage.disk, "nvme0n1");
  EXPECT_EQ(storage.file_system, "ext4");
  EXPECT_EQ(storage.mount_point, "/data");
  EXPECT_EQ(storage.source, "/dev/nvme0n1p1");
  EXPECT_EQ(storage.path, "/data/set");
}

TEST_F(StorageTest, FindsTheDiskBelowAFileSystemWithANumberOfItsOwn) {
  AddDisk("sdb", "8:17", "1");
  EXPECT_EQ(Mounted("btrfs", "/dev/sdbp1", "0:31").kind, StorageKind::kRotational);
  EXPECT_EQ(Mounted("zfs", "sdbp1", "0:31").kind, StorageKind::kUnknown) << "a pool's name, not a disk's";
}

TEST_F(StorageTest, LooksBelowStackedDisks) {
  AddDisk("sdb", "8:17", "1");
  tree_.Write("sys/devices/dm-0/queue/rotational", "0\n");
  tree_.Link("sys/devices/dm-0/slaves/sdbp1", tree_.root() + "/sys/devices/sdb");
  tree_.Link("sys/dev/block/253:0", tree_.root() + "/sys/devices/dm-0");
  EXPECT_EQ(Mounted("ext4", "/dev/mapper/x", "253:0").kind, StorageKind::kRotational);
  tree_.Link("sys/devices/dm-1/slaves/dm-1", tree_.root() + "/sys/devices/dm-1");  // no kernel stacks one on itself
  tree_.Link("sys/dev/block/253:1", tree_.root() + "/sys/devices/dm-1");
  EXPECT_EQ(Mounted("ext4", "/dev/mapper/y", "253:1").kind, StorageKind::kUnknown);
}

TEST_F(StorageTest, KnowsWhatIsNoDisk) {
  EXPECT_EQ(Mounted("nfs4", "server:/export").kind, StorageKind::kNetwork);
  EXPECT_EQ(Mounted("lustre", "10.0.0.1@tcp:/x").kind, StorageKind::kNetwork);
  EXPECT_EQ(Mounted("fuse.sshfs", "me@host:").kind, StorageKind::kNetwork);
  EXPECT_EQ(Mounted("fuse.s3fs", "s3fs").kind, StorageKind::kUserSpace);
  EXPECT_EQ(Mounted("fuseblk", "/dev/none").kind, StorageKind::kUnknown) << "NTFS on a disk";
  EXPECT_EQ(Mounted("9p", "share").kind, StorageKind::kShared);
  EXPECT_EQ(Mounted("tmpfs", "tmpfs").kind, StorageKind::kMemory);
  EXPECT_EQ(Mounted("overlay", "overlay").kind, StorageKind::kOverlay);
}

TEST_F(StorageTest, TakesTheDeepestMountAndTheLastOnOnePoint) {
  tree_.Write("proc/self/mountinfo",
              "1 1 0:1 / /data/set\\040one rw - nfs4 deep rw\n"
              "2 1 0:2 / /data rw - xfs first rw\n"
              "3 1 0:3 / /data rw - tmpfs second rw\n"
              "4 1 0:4 / /dat rw - ceph other rw\n"
              "5 1 0:5 / / rw - ext4 root rw\n");
  EXPECT_EQ(ReadStorage(tree_.root(), "/data/set one/a").source, "deep");
  EXPECT_EQ(ReadStorage(tree_.root(), "/data/set").source, "second");
  EXPECT_EQ(ReadStorage(tree_.root(), "/data").source, "second");
  EXPECT_EQ(ReadStorage(tree_.root(), "/datum").source, "root");
}

TEST_F(StorageTest, SurvivesNoMountsAndOddOnes) {
  EXPECT_EQ(ReadStorage(tree_.root(), "/data").file_system, "");
  for (const std::string text : kOddTexts) {
    for (const std::string& line :
         std::vector<std::string>{text, "1 2 3:4 / / rw - " + text, "1 2 " + text + " / / - ext4 x", "a b c d e f"}) {
      tree_.Write("proc/self/mountinfo", line);
      EXPECT_EQ(ReadStorage(tree_.root(), "/data").kind, StorageKind::kUnknown) << line;
    }
  }
}

TEST_F(StorageTest, FindsItsWayOnThisMachine) {
  const Storage storage = ReadStorage("/", tree_.root());
  EXPECT_FALSE(storage.file_system.empty());
  EXPECT_GT(storage.free_bytes.value_or(0), 0);
}

}  // namespace
}  // namespace stoker
