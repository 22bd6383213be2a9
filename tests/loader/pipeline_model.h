// A discrete-event model of the whole pipeline, with the exact shares of its critical path: the oracle of the stall
// log.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <queue>
#include <utility>
#include <vector>

#include "loader/stall_log.h"

namespace stoker {

// Reads in order -> workers in order of arrival -> host slots -> copy engine -> device slots -> consumer.
struct ModelConfig {
  uint32_t batch_size = 4;
  int64_t batches = 20;
  uint32_t queue_depth = 4;  // reads at once
  uint32_t buffers = 8;      // read buffers, given back by the decode
  uint32_t workers = 2;
  uint32_t slots = 3;         // host slots, given back by the copy (by the consumer where there is no device)
  uint32_t device_slots = 2;  // 0: no device, no copy
  // Nanoseconds of each sample's read and decode, and of each batch's copy and step.
  std::vector<int64_t> read = {}, decode = {}, copy = {}, step = {};
};

// Random pipelines and loads, light and heavy tails.
ModelConfig RandomConfig(uint32_t seed, int64_t batches);

class PipelineModel {
 public:
  explicit PipelineModel(const ModelConfig& config);

  // Runs it all, recording into `log` as the loader does, and calls `handed_over` (where there is one) with each batch
  // and the time. Returns the time of the last step's end.
  using HandedOver = std::function<void(int64_t batch, int64_t now_ns)>;
  int64_t Run(StallLog& log, HandedOver handed_over = {});
  // Of the run, by walking back from its end along what let each step start.
  StageTimes ExactBlame() const;
  int64_t begin_ns() const { return kBegin; }

 private:
  static constexpr int64_t kBegin = 1000;

  using Step = std::pair<Cause, int64_t>;  // which step of which sample or batch
  struct Event {
    int64_t end_ns = 0;
    Step step;
    bool operator<(const Event& other) const { return end_ns > other.end_ns; }  // the earliest on top
  };
  struct Span {
    int64_t start_ns = 0, end_ns = 0;
    Step before;
  };
  // Something that is leased last-in first-out, and what freed it.
  using Freed = std::pair<int64_t, int64_t>;  // when, by which sample or batch (-1: nobody)
  using Pool = std::vector<Freed>;
  static Freed TakeFrom(Pool& pool);

  void Start(Step step, int64_t ns);
  void StartWhatCan(StallLog& log);
  bool StartRead(StallLog& log);
  bool StartDecode(StallLog& log);
  bool StartCopy();
  bool StartConsumer(StallLog& log);
  void End(const Step& step, StallLog& log);
  void Fill(int64_t sample);

  const ModelConfig config_;
  const int64_t samples_;
  HandedOver handed_over_;
  int64_t now_ = kBegin;
  Step cause_ = {Cause::kNone, -1};  // the step whose end is being handled
  std::map<Step, Span> spans_;
  std::priority_queue<Event> events_;

  int64_t next_read_ = 0, next_copy_ = 0, next_step_ = 0;
  uint32_t reading_ = 0;
  bool copying_ = false, stepping_ = false;
  Pool buffers_, slots_, workers_, device_slots_;
  std::vector<uint16_t> worker_numbers_;  // of the free ones
  Freed slot_;                            // of the batch whose reads are being issued
  Predecessor room_;                      // the read that made room last
  std::queue<int64_t> arrived_;
  std::map<int64_t, uint32_t> missing_;    // of each batch under way
  std::map<int64_t, BatchStamps> stamps_;  // of batches that are full
  std::vector<bool> copied_;
};

}  // namespace stoker
