#include <algorithm>
#include <vector>

#include "bench/gpu/parts.h"

namespace stoker {
namespace {

using nlohmann::json;

// A round's seconds a call.
template <typename Call>
double SecondsPerCall(int calls, const Call& call) {
  return HostSeconds([&] {
           for (int i = 0; i < calls; ++i) call();
         }) /
         calls;
}

// One event that is complete, asked through the device seam and through the driver's own entry point, in turns: what
// moves the machine moves both.
json TableAgainstDirect(const Gpu& gpu) {
  const Stream stream(gpu.device);
  const Event event(gpu.device);
  event.Record(stream);
  event.Synchronize();
  const EventHandle handle = event;
  const auto direct_event = reinterpret_cast<CuEvent>(handle);
  std::vector<double> table, direct, ratios;
  // A ratio close to 1 wants more rounds than a time, and they are short.
  for (int i = 0; i < 10 * gpu.effort.rounds; ++i) {
    table.push_back(SecondsPerCall(gpu.effort.calls, [&] { (void)gpu.device.QueryEvent(handle); }));
    direct.push_back(SecondsPerCall(gpu.effort.calls, [&] { (void)gpu.driver.event_query(direct_event); }));
    ratios.push_back(table.back() / direct.back());
  }
  return {{"table_seconds", table}, {"direct_seconds", direct}, {"ratios", ratios}};
}

json EventCalls(const Gpu& gpu) {
  const Stream stream(gpu.device), other(gpu.device);
  const Event event(gpu.device);
  const int calls =
      std::min(gpu.effort.calls, 500);  // fewer than streams hold: beyond that a call waits for the device
  const auto figure = [&](const auto& call) {
    return Rounds(gpu.effort.rounds, [&] {
      const double seconds = SecondsPerCall(calls, call);
      stream.Synchronize();
      other.Synchronize();
      return seconds;
    });
  };
  const auto record = [&] { (void)gpu.device.RecordEvent(event, stream); };
  const auto wait = [&] { (void)gpu.device.StreamWaitEvent(other, event); };
  const auto query = [&] { (void)gpu.device.QueryEvent(event); };
  const auto record_wait_query = [&] {
    record();
    wait();
    query();
  };
  return {{"record_seconds", figure(record)},
          {"wait_seconds", figure(wait)},
          {"query_seconds", figure(query)},
          {"record_wait_query_seconds", figure(record_wait_query)}};
}

// A kernel with next to nothing to do: what the call costs, and what it takes until it is done.
json Launches(const Gpu& gpu, const KernelLoad& kernel) {
  const Stream stream(gpu.device);
  kernel.Submit(stream);
  stream.Synchronize();
  constexpr int kLaunches = 100;  // far fewer than a stream holds
  const auto call = [&] {
    const double seconds = SecondsPerCall(kLaunches, [&] { kernel.Submit(stream); });
    stream.Synchronize();
    return seconds;
  };
  const auto until_done = [&] {
    return SecondsPerCall(kLaunches, [&] {
      kernel.Submit(stream);
      stream.Synchronize();
    });
  };
  return {{"call_seconds", Rounds(gpu.effort.rounds, call)},
          {"until_done_seconds", Rounds(gpu.effort.rounds, until_done)},
          {"device_seconds", Rounds(gpu.effort.rounds, [&] { return kernel.Seconds(stream); })}};
}

}  // namespace

json MeasureCalls(const Gpu& gpu) {
  json results = {{"notes", json::array()}, {"events", EventCalls(gpu)}, {"query", TableAgainstDirect(gpu)}};
  if (const auto kernel = KernelLoad::Make(gpu.device, 1)) {
    results["launches"] = Launches(gpu, *kernel);
  } else {
    results["notes"].push_back("launches: this build has no kernel for the device");
  }
  return results;
}

}  // namespace stoker
