#include "decode/decode_error.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace stoker {
namespace {

class DecodeCategory final : public std::error_category {
 public:
  const char* name() const noexcept override { return "decode"; }
  std::string message(int code) const override {
    switch (static_cast<DecodeError>(code)) {
      case DecodeError::kEmpty:
        return "empty file";
      case DecodeError::kNotAnImage:
        return "not an image";
      case DecodeError::kUnsupported:
        return "unsupported format";
      case DecodeError::kTruncated:
        return "truncated data";
      case DecodeError::kCorrupt:
        return "corrupt data";
      case DecodeError::kTooLarge:
        return "more pixels than the limit";
      case DecodeError::kWarnings:
        return "decoder warnings (strict)";
      case DecodeError::kOutOfMemory:
        return "no memory for the pixels";
    }
    return "unknown decode error";
  }
};

}  // namespace

const std::error_category& decode_category() noexcept {
  static const DecodeCategory category;
  return category;
}

std::error_code make_error_code(DecodeError error) noexcept { return {static_cast<int>(error), decode_category()}; }

void Diagnosis::Say(std::string_view text) noexcept {
  if (detail[0] != '\0') return;
  const size_t length = std::min(text.size(), sizeof(detail) - 1);
  // Decoders quote bytes of the file: whatever is not plain ASCII would not be valid UTF-8.
  std::transform(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(length), detail,
                 [](char c) { return c >= ' ' && c <= '~' ? c : '?'; });
  detail[length] = '\0';
}

}  // namespace stoker
