// The entropy-coded bytes of a scan, ready for a lane: without stuffing, one restart interval at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace stoker {

// Threads: one thread at a time. Holds its memory from picture to picture.
class ScanBytes {
 public:
  // From byte `begin` of a file to the next marker or to `end`. `room` bytes may be read behind what there is.
  // Requires: begin <= end <= file.size(); the file outlives the use.
  void Open(std::span<const uint8_t> file, size_t begin, size_t end, size_t room);
  // Where the marker behind the data is in the file, if it is the next thing behind `position`; 0 otherwise.
  size_t MarkerBehind(uint64_t position) const noexcept;
  // Goes on behind the restart marker with this number (0 to 7); false where it is another marker, or not the next
  // thing behind `position`. What was unstuffed before is gone.
  bool PassRestart(int number, uint64_t position);

  const uint8_t* bytes() const noexcept { return bytes_.data(); }
  // How many bits there are, of those that are sure: the library warns where a file ends without a marker, and reads up
  // to eight bytes ahead.
  uint64_t bits() const noexcept { return bits_; }
  // The place of a bit in the file, as in RowMark. Requires: positions do not fall, within an interval.
  uint64_t PlaceInFile(uint64_t position) noexcept;

  size_t scratch_bytes() const noexcept { return bytes_.capacity(); }

 private:
  void Fill(size_t begin);

  std::span<const uint8_t> file_;
  size_t begin_ = 0;
  size_t end_ = 0;
  size_t room_ = 0;
  size_t marker_ = 0;  // where it is; 0: there is none
  std::vector<uint8_t> bytes_;
  uint64_t bits_ = 0;
  size_t counted_ = 0;  // of bytes_, for PlaceInFile
  size_t stuffed_ = 0;  // among those
};

}  // namespace stoker
