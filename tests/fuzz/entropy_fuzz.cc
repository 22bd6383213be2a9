// A JPEG, and what might be known of it, to the own entropy decoder. What it accepts must be the library's, with no
// warning of the library's. Of the first kChoices bytes, the first chooses (bits 0 and 1 the CPU path, 2 one lane) and
// the others make the window and marks that nobody has learned.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "decode/cpu_path.h"
#include "decode/jpeg/marks.h"
#include "tests/decode/jpeg/library_coefficients.h"

namespace stoker {
namespace {

constexpr size_t kChoices = 24;
constexpr int64_t kMaxPixels = 1 << 17;

void Require(bool holds) {
  if (!holds) std::abort();
}

class Choices {
 public:
  explicit Choices(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  uint32_t Byte() { return bytes_[next_++ % bytes_.size()]; }
  int32_t Below(int32_t n) {
    const uint32_t high = Byte();
    return static_cast<int32_t>((high << 8 | Byte()) % static_cast<uint32_t>(n));
  }

 private:
  std::span<const uint8_t> bytes_;
  size_t next_ = 0;
};

McuWindow TakeWindow(const JpegFrame& frame, Choices& choices) {
  McuWindow window;
  window.x0 = choices.Below(frame.mcus_across);
  window.y0 = choices.Below(frame.mcus_down);
  window.x1 = window.x0 + 1 + choices.Below(frame.mcus_across - window.x0);
  window.y1 = window.y0 + 1 + choices.Below(frame.mcus_down - window.y0);
  return window;
}

std::vector<RowMark> MadeUpMarks(std::span<const uint8_t> file, const JpegFrame& frame, Choices& choices) {
  std::vector<RowMark> marks = {{8 * uint64_t{frame.scan_offset}, {}}};
  const int32_t step = 1 + choices.Below(4000);
  while (marks.size() < static_cast<size_t>(frame.mcus_down)) {
    const uint64_t bit = marks.back().bit + 1 + static_cast<uint64_t>(choices.Below(step));
    if (bit > 8 * file.size()) break;
    marks.push_back({bit, {static_cast<int16_t>(choices.Below(1 << 16)), 0, 1}});
  }
  return marks;
}

// What was learned serves any window of the same file.
void DecodeAgain(EntropyDecoder& decoder, std::span<const uint8_t> file, const LibraryScan& library,
                 const McuWindow& window) {
  JpegMarks learned;
  learned.Pack(file, library.frame, decoder.marks());
  JpegMarks kept;
  kept.Assign(learned.packed());
  bool same = false;
  Require(DecodeAndCompare(decoder, file, library, window, kept.Unpack(file, library.frame), same));
  Require(same);
}

void Run(std::span<const uint8_t> input) {
  if (input.size() < kChoices) return;
  Choices choices(input.first(kChoices));
  const std::span<const uint8_t> file = input.subspan(kChoices);
  const uint32_t how = choices.Byte();
  ForceCpuPath(std::min(static_cast<CpuPath>(std::min(how & 3, 2u)), BestCpuPath()));
  const LibraryScan library = ScanByTheLibrary(file, kMaxPixels);
  if (!library.has_frame) return;

  static EntropyDecoder decoder;  // what one picture leaves behind must not matter to the next
  decoder.set_lanes((how & 4) != 0 ? 1 : 2);
  const McuWindow whole = {0, 0, library.frame.mcus_across, library.frame.mcus_down};
  const McuWindow window = TakeWindow(library.frame, choices);
  bool same = false;
  if (DecodeAndCompare(decoder, file, library, whole, {}, same)) {
    Require(same && !library.failed && library.warnings == 0);
    DecodeAgain(decoder, file, library, window);
  }
  if (DecodeAndCompare(decoder, file, library, window, {}, same)) {
    // Of separate scans, any window's decode sees all.
    Require(same && (!library.frame.separate_scans || (!library.failed && library.warnings == 0)));
    DecodeAgain(decoder, file, library, window);
  }
  DecodeAndCompare(decoder, file, library, window, MadeUpMarks(file, library.frame, choices), same);
}

}  // namespace
}  // namespace stoker

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  stoker::Run({data, size});
  return 0;
}
