#include "loader/error.h"

namespace stoker {
namespace {

class LoadCategory final : public std::error_category {
 public:
  const char* name() const noexcept override { return "load"; }
  std::string message(int code) const override {
    switch (static_cast<LoadError>(code)) {
      case LoadError::kChangedSize:
        return "the file changed its size while being read";
      case LoadError::kReadTimedOut:
        return "the read did not come back within the deadline";
      case LoadError::kFileTooLarge:
        return "the file is larger than max_file_bytes";
      case LoadError::kNoMemory:
        return "no memory for a buffer of this size";
      case LoadError::kTooSmallForCrop:
        return "the picture is smaller than the crop";
      case LoadError::kWrongSize:
        return "the picture does not come out at the batch's size";
      case LoadError::kTooManyErrors:
        return "more bad samples than max_errors";
      case LoadError::kNoGoodSample:
        return "no good sample is left in this shard";
      case LoadError::kAllSlotsHeld:
        return "the caller holds every batch";
      case LoadError::kForked:
        return "the loader was started before this process was forked";
      case LoadError::kStopped:
        return "the loader has already failed";
      case LoadError::kCancelled:
        return "loading was cancelled";
      case LoadError::kNoDevice:
        return "the device is not to be had";
    }
    return "unknown load error";
  }
};

}  // namespace

const std::error_category& load_category() noexcept {
  static const LoadCategory category;
  return category;
}

std::error_code make_error_code(LoadError error) noexcept { return {static_cast<int>(error), load_category()}; }

}  // namespace stoker
