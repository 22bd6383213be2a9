// As Nsight does it: NVTX loads the library that NVTX_INJECTION64_PATH names, whose InitializeInjectionNvtx2 puts its
// own functions into NVTX's tables.
#include "tests/fake_nvtx/fake_nvtx.h"

#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace {

struct Registered {
  std::string text;
};

std::mutex mutex;
std::map<std::string, Registered> domains;
std::map<std::pair<std::string, std::string>, Registered> strings;
std::map<std::pair<std::string, std::string>, int64_t> opened;
std::map<std::string, FakeNvtxCounts> totals;
thread_local int64_t depth = 0;

const std::string& TextOf(const void* handle) { return static_cast<const Registered*>(handle)->text; }

nvtxDomainHandle_t NVTX_API CreateDomain(const char* name) {
  const std::lock_guard lock(mutex);
  Registered& domain = domains[name];
  domain.text = name;
  return reinterpret_cast<nvtxDomainHandle_t>(&domain);
}

nvtxStringHandle_t NVTX_API RegisterString(nvtxDomainHandle_t domain, const char* text) {
  const std::lock_guard lock(mutex);
  Registered& string = strings[{TextOf(domain), text}];
  string.text = text;
  return reinterpret_cast<nvtxStringHandle_t>(&string);
}

int NVTX_API Push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* range) {
  const std::lock_guard lock(mutex);
  if (range->version != NVTX_VERSION || range->messageType != NVTX_MESSAGE_TYPE_REGISTERED)
    return NVTX_NO_PUSH_POP_TRACKING;
  ++opened[{TextOf(domain), TextOf(range->message.registered)}];
  FakeNvtxCounts& counts = totals[TextOf(domain)];
  counts.deepest = std::max(counts.deepest, ++depth);
  return static_cast<int>(depth);
}

int NVTX_API Pop(nvtxDomainHandle_t domain) {
  const std::lock_guard lock(mutex);
  FakeNvtxCounts& counts = totals[TextOf(domain)];
  ++counts.closed;
  if (depth == 0) ++counts.unbalanced;
  return static_cast<int>(--depth);
}

template <typename Function>
void Put(NvtxFunctionTable table, unsigned int id, Function* function) {
  *table[id] = reinterpret_cast<NvtxFunctionPointer>(function);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void CountsOfFakeNvtx(const char* domain, const char* name,
                                                                        FakeNvtxCounts* counts) {
  const std::lock_guard lock(mutex);
  *counts = totals[domain];
  counts->opened = opened[{domain, name}];
}

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned int size = 0;
  if (callbacks == nullptr || callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0) return 0;
  if (size <= NVTX_CBID_CORE2_DomainCreateA) return 0;
  Put(table, NVTX_CBID_CORE2_DomainCreateA, CreateDomain);
  Put(table, NVTX_CBID_CORE2_DomainRegisterStringA, RegisterString);
  Put(table, NVTX_CBID_CORE2_DomainRangePushEx, Push);
  Put(table, NVTX_CBID_CORE2_DomainRangePop, Pop);
  return 1;
}
