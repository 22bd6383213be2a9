#include "transfer/nvtx.h"

#ifdef STOKER_NVTX
#include <nvtx3/nvToolsExt.h>

#include <array>
#include <mutex>
#endif

namespace stoker {

void* nvtx_domain = nullptr;

#ifdef STOKER_NVTX

namespace {

constexpr std::array kNames = {"decode", "augment", "copy", "next()"};

std::once_flag attached;
std::array<nvtxStringHandle_t, kNames.size()> names;  // written before nvtx_domain is

nvtxDomainHandle_t Domain() { return static_cast<nvtxDomainHandle_t>(nvtx_domain); }

}  // namespace

void AttachNvtx() noexcept {
  std::call_once(attached, [] {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("stoker");
    if (domain == nullptr) return;
    for (size_t i = 0; i < kNames.size(); ++i) names[i] = nvtxDomainRegisterStringA(domain, kNames[i]);
    nvtx_domain = domain;
  });
}

void NvtxRange::Push(NvtxName name) noexcept {
  nvtxEventAttributes_t range = {};
  range.version = NVTX_VERSION;
  range.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  range.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  range.message.registered = names[static_cast<size_t>(name)];
  (void)nvtxDomainRangePushEx(Domain(), &range);
}

void NvtxRange::Pop() noexcept { (void)nvtxDomainRangePop(Domain()); }

#else

void AttachNvtx() noexcept {}
void NvtxRange::Push(NvtxName) noexcept {}
void NvtxRange::Pop() noexcept {}

#endif

}  // namespace stoker
