#include "loader/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "loader/trace_file.h"

namespace stoker {
namespace {

struct Slice {
  int64_t from_ns = 0;
  int64_t to_ns = 0;
  const char* name = "";
  Stage stage = Stage::kOther;
  Step step;
};

struct Row {
  std::string name;
  std::vector<Slice> slices = {};
};

bool Before(const Step& a, const Step& b) { return std::pair(a.cause, a.index) < std::pair(b.cause, b.index); }

class Trace {
 public:
  Trace(const StallLog& log, uint32_t workers, int64_t now_ns);

  void Write(const Source& source, const std::string& path);

 private:
  // What an arrow may begin or end at.
  struct Place {
    Step step = {};
    size_t row = 0;
    int64_t from_ns = 0;
    int64_t to_ns = 0;
  };

  void Add(Row& row, const char* name, Stage stage, int64_t from_ns, int64_t to_ns, const Step& step) const;
  void Add(Row& row, const StallLog::Segment& part) const;
  void AddSample(const SampleRecord& record);
  void AddBatch(const BatchRecord& record);
  void AddReads();
  void AddPath();
  void Untangle(Row& row) const;
  void IndexPlaces(const std::vector<Row*>& rows);
  const Place* Find(const Step& step, int64_t at_ns) const;
  void WriteArrows(TraceFile& file) const;
  std::string Arguments(const Source& source, const Step& step) const;

  const StallLog& log_;
  const int64_t now_ns_;
  int64_t begin_ns_ = 0;
  Row path_{"critical path"};
  Row consumer_{"consumer"};
  Row device_{"consumer, on the device"};
  Row copies_{"copy engine"};
  std::vector<Row> workers_;
  std::vector<Row> lanes_;
  std::vector<Step> reads_;     // that no worker did
  std::vector<Slice> on_path_;  // steps, the latest first, each with its time on the path
  std::vector<Place> places_;   // by step, then in the order of rows and time
};

Trace::Trace(const StallLog& log, uint32_t workers, int64_t now_ns)
    : log_(log), now_ns_(now_ns), begin_ns_(log.begin_ns() == 0 ? now_ns : log.begin_ns()) {
  for (uint32_t i = 0; i < workers; ++i) workers_.push_back({fmt::format("worker {}", i)});
  if (workers == 0) workers_.push_back({"reading thread"});
  std::vector<const BatchRecord*> batches;
  for (int64_t number = log.first_held(); number <= log.last_batch(); ++number) {
    const BatchRecord* const record = log.FindBatch(number);
    if (record != nullptr) batches.push_back(record);
  }
  if (!batches.empty()) begin_ns_ = std::max(begin_ns_, batches.front()->requested_ns);
  for (const BatchRecord* batch : batches) AddBatch(*batch);
  AddReads();
  AddPath();
}

void Trace::Add(Row& row, const char* name, Stage stage, int64_t from_ns, int64_t to_ns, const Step& step) const {
  from_ns = std::max(from_ns, begin_ns_);
  to_ns = std::min(to_ns, now_ns_);
  if (from_ns < to_ns) row.slices.push_back({from_ns, to_ns, name, stage, step});
}

void Trace::Add(Row& row, const StallLog::Segment& part) const {
  Add(row, kPartNames[static_cast<size_t>(part.part)], StageOf(part.part), part.from_ns, part.to_ns, part.step);
}

void Trace::AddBatch(const BatchRecord& record) {
  const Step step = {Cause::kConsumer, record.batch};
  Add(consumer_, "next()", Stage::kOther, record.requested_ns, record.returned_ns, step);
  const int64_t end_ns = record.consumer_end_ns == 0 ? now_ns_ : record.consumer_end_ns;
  Add(consumer_, "step", Stage::kConsumer, record.returned_ns, end_ns, step);
  if (record.to_stream && record.device_done_ns != 0) {
    log_.Parts(step, [this](const StallLog::Segment& part) {
      if (part.part == Part::kStep) Add(device_, part);
    });
  }
  log_.Parts({Cause::kCopy, record.batch}, [this](const StallLog::Segment& part) { Add(copies_, part); });
  for (uint32_t i = 0; i < record.count; ++i) AddSample(log_.sample(log_.Sequence(record.batch, i)));
}

void Trace::AddSample(const SampleRecord& record) {
  Row& worker = workers_[std::min<size_t>(record.worker, workers_.size() - 1)];
  const auto add = [&](const StallLog::Segment& part) { Add(worker, part); };
  log_.Parts({Cause::kDecode, record.sequence}, add);
  if (record.cached) {
    log_.Parts({Cause::kRead, record.sequence}, add);
  } else {
    reads_.push_back({Cause::kRead, record.sequence});
  }
}

// Reads in flight have no thread: each takes the first lane that is free.
void Trace::AddReads() {
  const auto submitted = [this](const Step& read) { return log_.sample(read.index).submit_ns; };
  std::ranges::sort(reads_, {}, submitted);
  for (const Step& read : reads_) {
    const auto is_free = [&](const Row& lane) {
      return lane.slices.empty() || lane.slices.back().to_ns <= submitted(read);
    };
    auto lane = std::ranges::find_if(lanes_, is_free);
    if (lane == lanes_.end()) lane = lanes_.insert(lane, Row{fmt::format("read {}", lanes_.size())});
    std::vector<StallLog::Segment> parts;
    log_.Parts(read, [&](const StallLog::Segment& part) { parts.push_back(part); });
    std::ranges::reverse(parts);
    for (const StallLog::Segment& part : parts) Add(*lane, part);
  }
}

void Trace::AddPath() {
  log_.Path(begin_ns_, now_ns_, [this](const StallLog::Segment& segment) {
    Add(path_, segment);
    if (segment.step.cause == Cause::kNone) return;
    const bool same =
        !on_path_.empty() && !Before(on_path_.back().step, segment.step) && !Before(segment.step, on_path_.back().step);
    if (!same) on_path_.push_back({segment.from_ns, segment.to_ns, "", Stage::kOther, segment.step});
    on_path_.back().from_ns = segment.from_ns;
  });
}

// In the order of time, and one at a time: what goes on beside the next one (the first try of a sample that was then
// replaced, a copy whose end was seen late) ends where that begins.
void Trace::Untangle(Row& row) const {
  std::ranges::stable_sort(row.slices, {}, &Slice::from_ns);
  for (size_t i = 1; i < row.slices.size(); ++i) {
    row.slices[i - 1].to_ns = std::min(row.slices[i - 1].to_ns, row.slices[i].from_ns);
  }
  std::erase_if(row.slices, [](const Slice& slice) { return slice.from_ns >= slice.to_ns; });
}

void Trace::IndexPlaces(const std::vector<Row*>& rows) {
  for (size_t row = 0; row < rows.size(); ++row) {
    if (rows[row] == &path_) continue;
    for (const Slice& slice : rows[row]->slices) {
      if (slice.stage != Stage::kOther) places_.push_back({slice.step, row, slice.from_ns, slice.to_ns});
    }
  }
  std::ranges::stable_sort(places_, Before, &Place::step);
}

// Where a step is at a moment. A stamp may lie beside its slices, as they were cut: then the nearest before it.
const Trace::Place* Trace::Find(const Step& step, int64_t at_ns) const {
  const auto earlier = [](const Place& a, const Place& b) { return Before(a.step, b.step); };
  const auto [first, last] = std::equal_range(places_.begin(), places_.end(), Place{step}, earlier);
  const Place* best = nullptr;
  for (auto place = first; place != last; ++place) {
    if (place->from_ns <= at_ns && at_ns < place->to_ns) return &*place;
    if (best == nullptr || place->from_ns <= at_ns) best = &*place;
  }
  return best;
}

// Steps of batches that were not handed over yet have no slices: arrows lead past them.
void Trace::WriteArrows(TraceFile& file) const {
  const Place* to = nullptr;
  int64_t arrives_ns = 0;
  for (const Slice& step : on_path_) {
    const Place* const from = Find(step.step, step.to_ns - 1);
    if (from == nullptr) continue;
    const int64_t leaves_ns = std::clamp(step.to_ns - 1, from->from_ns, from->to_ns - 1);
    if (to != nullptr && leaves_ns <= arrives_ns) {
      file.Arrow(static_cast<int64_t>(from->row) + 1, leaves_ns, static_cast<int64_t>(to->row) + 1, arrives_ns);
    }
    to = Find(step.step, step.from_ns);
    arrives_ns = std::clamp(step.from_ns, to->from_ns, to->to_ns - 1);
  }
}

std::string Trace::Arguments(const Source& source, const Step& step) const {
  if (step.cause == Cause::kNone) return "";
  if (step.cause == Cause::kCopy || step.cause == Cause::kConsumer) return fmt::format("\"batch\":{}", step.index);
  const SampleRecord& record = log_.sample(step.index);
  std::string place =
      fmt::format("\"batch\":{},\"index\":{}", step.index / log_.batch_size(), step.index % log_.batch_size());
  // The record of a sample that was not handed over may be at work still.
  if (step.index / log_.batch_size() > log_.last_batch() || record.id == SampleRecord::kNoId) return place;
  return fmt::format("{},\"id\":{},\"sample\":{},\"bytes\":{}", place, record.id, JsonString(source.Name(record.id)),
                     record.bytes);
}

void Trace::Write(const Source& source, const std::string& path) {
  std::vector<Row*> rows = {&path_, &device_, &consumer_, &copies_};
  for (std::vector<Row>* const group : {&workers_, &lanes_}) {
    for (Row& row : *group) rows.push_back(&row);
  }
  std::erase_if(rows, [this](const Row* row) { return row->slices.empty() && row != &path_; });
  for (Row* const row : rows) Untangle(*row);
  IndexPlaces(rows);
  TraceFile file(path, begin_ns_);
  for (size_t row = 0; row < rows.size(); ++row) {
    const auto number = static_cast<int64_t>(row) + 1;
    file.Row(number, rows[row]->name);
    for (const Slice& slice : rows[row]->slices) {
      const char* const stage = kStageNames[static_cast<size_t>(slice.stage)];
      const bool both = rows[row] == &path_ && slice.step.cause != Cause::kNone;
      file.Slice(number, both ? fmt::format("{}: {}", stage, slice.name) : slice.name, stage, slice.from_ns,
                 slice.to_ns, Arguments(source, slice.step));
    }
  }
  WriteArrows(file);
  file.Finish();
}

}  // namespace

void WriteTrace(const StallLog& log, const Source& source, uint32_t workers, int64_t now_ns, const std::string& path) {
  Trace(log, workers, now_ns).Write(source, path);
}

}  // namespace stoker
