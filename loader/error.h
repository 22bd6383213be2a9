// What goes wrong outside decoding, and the exception that the caller's thread gets.
#pragma once

#include <cstdint>
#include <string>
#include <system_error>

namespace stoker {

enum class LoadError {
  kChangedSize = 1,  // the file is not as long as when the source was made
  kReadTimedOut,     // the read did not come back within the deadline
  kFileTooLarge,     // more encoded bytes than max_file_bytes
  kNoMemory,         // no memory for a one-off buffer
  kTooSmallForCrop,  // the recipe's crop is larger than the picture
  kWrongSize,        // the recipe gives this picture another size than the batch has
  kTooManyErrors,    // more bad samples than max_errors
  kNoGoodSample,     // every sample of the shard is bad
  kAllSlotsHeld,     // the caller keeps every batch
  kForked,           // used in a process forked after the loader had started
  kStopped,          // the pipeline has already failed
  kCancelled,        // Cancel was called
  kNoDevice,         // the device that the options name cannot be had
};

const std::error_category& load_category() noexcept;
std::error_code make_error_code(LoadError) noexcept;

// Thrown by Loader's constructor and Next, on the caller's thread only. what() is whole: stage, sample, cause, remedy.
class Error : public std::system_error {
 public:
  Error(std::error_code code, std::string stage, std::string sample, int64_t offset_bytes, const std::string& message)
      : Error(code, std::move(stage), {std::move(sample), -1, offset_bytes, code.message()}, message) {}

  // The sample that is to blame.
  struct Blame {
    std::string sample;
    int64_t id = -1;
    int64_t offset_bytes = -1;
    std::string reason;
  };
  Error(std::error_code code, std::string stage, Blame blame, const std::string& message)
      : std::system_error(code), message_(message), stage_(std::move(stage)), blame_(std::move(blame)) {}

  const char* what() const noexcept override { return message_.c_str(); }

  const std::string& stage() const noexcept { return stage_; }           // "scan", "read", "decode", "copy", "next"
  const std::string& sample() const noexcept { return blame_.sample; }   // its name, empty where no sample is to blame
  int64_t id() const noexcept { return blame_.id; }                      // the sample's, -1 where none is to blame
  int64_t offset_bytes() const noexcept { return blame_.offset_bytes; }  // in the encoded data, -1 where unknown
  const std::string& reason() const noexcept { return blame_.reason; }   // format and cause in words, without the name

 private:
  std::string message_;  // std::system_error would add the words of the code, which are in it already
  std::string stage_;
  Blame blame_;
};

}  // namespace stoker

template <>
struct std::is_error_code_enum<stoker::LoadError> : std::true_type {};
