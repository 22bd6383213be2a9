// The CUDA driver of this machine, found at run time.
#pragma once

#include <string>
#include <system_error>

#include "transfer/cuda_api.h"
#include "transfer/device.h"

namespace stoker {

// A loaded driver library, or the reason why there is none.
// Threads: immutable once made. The library is never unloaded: it has threads and exit handlers of its own.
class CudaDriver {
 public:
  // Loads `library`, looks up all of CudaApi at one API level and initialises the driver. Never throws: what is missing
  // is what `refusal` says.
  explicit CudaDriver(const char* library);

  // The driver of this process, loaded by the first call; a second load would find what the first one found.
  static const CudaDriver& Get();

  // Why CUDA cannot be used, and the remedy; empty where it can.
  const std::string& refusal() const noexcept { return refusal_; }
  // All set where `refusal` is empty.
  const CudaApi& api() const noexcept { return api_; }

 private:
  std::string Load(const char* library);

  CudaApi api_;
  const std::string refusal_;
};

// "CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected", or the number where the driver does not know it.
std::string CudaErrorWords(const CudaApi& api, CuResult result);

// The driver's results as error codes: a DeviceError where there is one of the same meaning, otherwise one of this
// category, whose words are the driver's own.
const std::error_category& cuda_category() noexcept;
std::error_code make_error_code(CuResult result) noexcept;

}  // namespace stoker
