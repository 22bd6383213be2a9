#include "transfer/cuda_finish_image.h"

// STOKER_FINISH_IMAGE is the path of the fat binary, which the driver wants aligned.
__asm__(
    ".pushsection .rodata\n"
    ".balign 64\n"
    ".globl stoker_finish_image_begin\n"
    ".hidden stoker_finish_image_begin\n"
    "stoker_finish_image_begin:\n"
    ".incbin \"" STOKER_FINISH_IMAGE
    "\"\n"
    ".globl stoker_finish_image_end\n"
    ".hidden stoker_finish_image_end\n"
    "stoker_finish_image_end:\n"
    ".popsection\n");

extern "C" {
[[gnu::visibility("hidden")]] extern const std::byte stoker_finish_image_begin[];
[[gnu::visibility("hidden")]] extern const std::byte stoker_finish_image_end[];
}

namespace stoker {

std::span<const std::byte> FinishImage() noexcept { return {stoker_finish_image_begin, stoker_finish_image_end}; }

}  // namespace stoker
