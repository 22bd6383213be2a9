#include "tests/loader/pipeline_model.h"

#include <cmath>
#include <initializer_list>
#include <random>
#include <utility>

namespace stoker {

ModelConfig RandomConfig(uint32_t seed, int64_t batches) {
  std::mt19937_64 random(seed);
  const auto pick = [&](std::initializer_list<uint32_t> of) { return *(of.begin() + random() % of.size()); };
  ModelConfig config = {.batch_size = pick({1, 3, 8, 16}), .batches = batches};
  config.queue_depth = pick({1, 4, 8, 32});
  config.workers = pick({1, 2, 4, 8});
  config.buffers = config.queue_depth + pick({1, 2, 2 * config.workers});
  config.slots = pick({2, 3, 4});
  config.device_slots = pick({0, 2, 3});
  const double spread = pick({0, 1}) == 0 ? 0.2 : 1.2;
  // Loads of each stage between a third and all of the same pace.
  const auto times = [&](int64_t count, double servers) {
    const double mean = 1e6 * servers * (0.3 + 0.7 * static_cast<double>(random() % 1000) / 1000);
    std::lognormal_distribution<double> draw(std::log(mean), spread);
    std::vector<int64_t> ns(static_cast<size_t>(count));
    for (int64_t& one : ns) one = static_cast<int64_t>(draw(random)) + 1;
    return ns;
  };
  const int64_t samples = batches * config.batch_size;
  config.read = times(samples, config.queue_depth);
  config.decode = times(samples, config.workers);
  config.copy = times(batches, config.batch_size);
  config.step = times(batches, config.batch_size);
  return config;
}

PipelineModel::PipelineModel(const ModelConfig& config)
    : config_(config),
      samples_(config.batches * config.batch_size),
      buffers_(config.buffers, Freed{0, -1}),
      slots_(config.slots, Freed{0, -1}),
      workers_(config.workers, Freed{0, -1}),
      device_slots_(config.device_slots, Freed{0, -1}),
      copied_(static_cast<size_t>(config.batches)) {
  for (uint32_t i = config.workers; i > 0; --i) worker_numbers_.push_back(static_cast<uint16_t>(i - 1));
}

PipelineModel::Freed PipelineModel::TakeFrom(Pool& pool) {
  const Freed taken = pool.back();
  pool.pop_back();
  return taken;
}

void PipelineModel::Start(Step step, int64_t ns) {
  spans_[step] = {now_, now_ + ns, cause_};
  events_.push({now_ + ns, step});
}

bool PipelineModel::StartRead(StallLog& log) {
  if (next_read_ == samples_ || reading_ == config_.queue_depth || buffers_.empty()) return false;
  const int64_t batch = next_read_ / config_.batch_size;
  if (next_read_ % config_.batch_size == 0) {
    if (slots_.empty()) return false;
    slot_ = TakeFrom(slots_);
    missing_[batch] = config_.batch_size;
  }
  SampleRecord& record = log.sample(next_read_);
  record = {};
  record.sequence = next_read_;
  record.submit_ns = now_;
  const Freed buffer = TakeFrom(buffers_);
  const Cause slot_freed_by = config_.device_slots > 0 ? Cause::kCopy : Cause::kConsumer;
  record.before_read.Consider({slot_.first, slot_.second, slot_.second < 0 ? Cause::kNone : slot_freed_by});
  record.before_read.Consider({buffer.first, buffer.second, buffer.second < 0 ? Cause::kNone : Cause::kDecode});
  record.before_read.Consider(room_);
  ++reading_;
  Start({Cause::kRead, next_read_}, config_.read[static_cast<size_t>(next_read_)]);
  ++next_read_;
  return true;
}

bool PipelineModel::StartDecode(StallLog& log) {
  if (arrived_.empty() || workers_.empty()) return false;
  const int64_t sample = arrived_.front();
  arrived_.pop();
  const Freed worker = TakeFrom(workers_);
  SampleRecord& record = log.sample(sample);
  record.start_ns = now_;
  record.worker = worker_numbers_.back();
  worker_numbers_.pop_back();
  record.id = static_cast<uint32_t>(sample);
  record.before_decode = {record.arrive_ns, sample, Cause::kRead};
  record.before_decode.Consider({worker.first, worker.second, worker.second < 0 ? Cause::kNone : Cause::kDecode});
  Start({Cause::kDecode, sample}, config_.decode[static_cast<size_t>(sample)]);
  return true;
}

bool PipelineModel::StartCopy() {
  if (config_.device_slots == 0 || copying_ || device_slots_.empty() || !stamps_.contains(next_copy_)) return false;
  BatchStamps& stamps = stamps_[next_copy_];
  const Freed slot = TakeFrom(device_slots_);
  stamps.copy_start_ns = now_;
  stamps.device_slot_ns = slot.first;
  stamps.device_slot_batch = slot.second;
  copying_ = true;
  Start({Cause::kCopy, next_copy_}, config_.copy[static_cast<size_t>(next_copy_)]);
  ++next_copy_;
  return true;
}

bool PipelineModel::StartConsumer(StallLog& log) {
  if (stepping_ || next_step_ == config_.batches) return false;
  const bool ready = config_.device_slots > 0 ? copied_[static_cast<size_t>(next_step_)] : stamps_.contains(next_step_);
  if (!ready) return false;
  BatchRecord record;
  record.batch = next_step_;
  record.count = config_.batch_size;
  record.stamps = stamps_[next_step_];
  record.returned_ns = now_;
  log.HandOver(record);
  if (handed_over_) handed_over_(record.batch, now_);
  stepping_ = true;
  Start({Cause::kConsumer, next_step_}, config_.step[static_cast<size_t>(next_step_)]);
  ++next_step_;
  return true;
}

void PipelineModel::StartWhatCan(StallLog& log) {
  while (StartRead(log) || StartDecode(log) || StartCopy() || StartConsumer(log)) {
  }
}

void PipelineModel::Fill(int64_t sample) {
  const int64_t batch = sample / config_.batch_size;
  if (--missing_[batch] > 0) return;
  stamps_[batch].full_ns = now_;
  stamps_[batch].last_sample = static_cast<uint32_t>(sample % config_.batch_size);
}

void PipelineModel::End(const Step& step, StallLog& log) {
  const auto [kind, index] = step;
  if (kind == Cause::kRead) {
    log.sample(index).arrive_ns = now_;
    log.sample(index).bytes = 100;
    if (reading_ == config_.queue_depth) room_ = {now_, index, Cause::kRead};
    --reading_;
    arrived_.push(index);
  } else if (kind == Cause::kDecode) {
    SampleRecord& record = log.sample(index);
    record.end_ns = now_;
    record.decoded_ns = record.start_ns + (record.end_ns - record.start_ns) / 2;
    workers_.push_back({now_, index});
    worker_numbers_.push_back(record.worker);
    buffers_.push_back({now_, index});
    Fill(index);
  } else if (kind == Cause::kCopy) {
    stamps_[index].copy_end_ns = now_;
    copying_ = false;
    copied_[static_cast<size_t>(index)] = true;
    slots_.push_back({now_, index});
  } else {
    stepping_ = false;
    log.Request(now_);
    (config_.device_slots > 0 ? device_slots_ : slots_).push_back({now_, index});
    stamps_.erase(index);
  }
}

int64_t PipelineModel::Run(StallLog& log, HandedOver handed_over) {
  handed_over_ = std::move(handed_over);
  log.Request(kBegin);
  StartWhatCan(log);
  while (!events_.empty()) {
    const Event event = events_.top();
    events_.pop();
    now_ = event.end_ns;
    cause_ = event.step;
    End(event.step, log);
    StartWhatCan(log);
  }
  return now_;
}

StageTimes PipelineModel::ExactBlame() const {
  StageTimes blame = {};
  Step step = {Cause::kConsumer, config_.batches - 1};
  while (step.first != Cause::kNone) {
    const Span& span = spans_.at(step);
    constexpr std::array<Stage, 5> kStageOf = {Stage::kOther, Stage::kIo, Stage::kDecode, Stage::kCopy,
                                               Stage::kConsumer};
    blame[static_cast<size_t>(kStageOf[static_cast<size_t>(step.first)])] += span.end_ns - span.start_ns;
    step = span.before;
  }
  return blame;
}

}  // namespace stoker
