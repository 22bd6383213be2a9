#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>
#include <unistd.h>

#include <chrono>
#include <climits>
#include <filesystem>
#include <mutex>
#include <optional>
#include <system_error>
#include <type_traits>

#include "loader/file_source.h"
#include "loader/loader.h"
#include "loader/step_report.h"
#include "python/batch_arrays.h"
#include "python/bindings.h"
#include "python/interrupt.h"
#include "python/python_error.h"
#include "python/recipe_binding.h"

namespace py = pybind11;

namespace stoker {
namespace {

constexpr const char* kOnError[] = {"raise", "skip", "mask"};
constexpr const char* kDecode[] = {"exact", "fast"};
constexpr const char* kReaders[] = {"auto", "io_uring", "pread"};
constexpr const char* kNormalizeOn[] = {"auto", "host", "device"};

// A loader that Python's threads may share: calls take turns. Waits without the GIL; signals are seen ten times a
// second. Everything that Start begins is a *run* with a number, so that a thread that still waits in the run before
// takes no batch of this one.
class SharedLoader {
 public:
  SharedLoader(LoaderOptions options, std::shared_ptr<const FileSource> source) : source_(std::move(source)) {
    options.on_report = [this](const StepReport& report) { Keep(report); };
    loader_ = std::make_shared<Loader>(std::move(options), source_);
    batches_per_epoch_ = loader_->batches_per_epoch();
    device_ = loader_->Report().device;
  }
  ~SharedLoader() { Close(); }

  uint64_t StartEpoch(uint64_t epoch, uint64_t done) {
    const Turn turn(*this);
    if (done > source_->size()) {
      throw std::invalid_argument("done: " + std::to_string(done) + " samples of " + std::to_string(source_->size()));
    }
    return Start(turn, epoch, MakeSampler(turn.loader().options(), source_->size(), done));
  }

  uint64_t StartList(uint64_t epoch, const py::buffer& ids, uint64_t done, int32_t rank, int32_t world_size) {
    const py::buffer_info info = ids.request();
    if (info.ndim != 1 || info.itemsize != sizeof(uint32_t)) throw py::type_error("ids: an array of 32-bit numbers");
    const auto* first = static_cast<const uint32_t*>(info.ptr);
    auto order = std::make_shared<ListOrder>(std::vector<uint32_t>(first, first + info.size), source_->size(), rank,
                                             world_size, done);
    return Start(Turn(*this), epoch, std::move(order));
  }

  std::optional<BatchArrays> Next(uint64_t run, double timeout_seconds, StreamHandle stream) {
    const Turn turn(*this);
    if (run != run_ || over_) return std::nullopt;
    const auto start = std::chrono::steady_clock::now();
    const auto while_waiting = [&] {
      WhileWaiting(turn);
      const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - start;
      if (timeout_seconds > 0 && waited.count() >= timeout_seconds) {
        throw std::runtime_error("no batch came within the timeout of " + std::to_string(timeout_seconds) + " seconds");
      }
    };
    try {
      std::optional<Batch> batch = turn.loader().Next(stream, while_waiting);
      over_ = !batch;
      if (over_) return std::nullopt;
      return ArraysOf(std::move(*batch));
    } catch (const Error& error) {
      throw LocatedError{error, PathOf(error)};
    }
  }

  uint64_t run() {
    const Turn turn(*this);
    return run_;
  }
  // Made by the thread whose turn it is where that waits: nobody waits for a batch in order to know how it goes.
  StallReport Report() {
    std::optional<StallReport> answer;
    const Turn turn(*this, [&, number = uint64_t{0}]() mutable {
      if (number == 0) number = AskForReport();
      answer = AnswerTo(number);
      return answer.has_value();
    });
    return answer ? *std::move(answer) : turn.loader().Report();
  }
  void RestartReport() { Turn(*this).loader().RestartReport(); }
  void WriteTrace(const std::filesystem::path& path) {
    try {
      Turn(*this).loader().WriteTrace(path.string());
    } catch (const Error&) {
      throw;
    } catch (const std::system_error& error) {
      PyErr_SetObject(PyExc_OSError, py::make_tuple(error.code().value(), error.what()).ptr());
      throw py::error_already_set();
    }
  }
  // Of an epoch that was given as lists.
  void EndEpoch() { Turn(*this).loader().EndEpoch(); }
  // The periodic reports that came since the last call, the latest kMostReports of them.
  std::vector<StepReport> TakeReports() {
    if (forked()) return {};  // a thread of the parent may have had the lock
    const std::lock_guard<std::mutex> lock(reports_mutex_);
    return std::exchange(steps_, {});
  }
  std::optional<StepReport> last_report() {
    if (forked()) return std::nullopt;
    const std::lock_guard<std::mutex> lock(reports_mutex_);
    return last_step_;
  }
  bool over_budget() { return Turn(*this).loader().OverBudget(); }
  int64_t batches_per_epoch() const noexcept { return batches_per_epoch_; }
  const std::string& device() const noexcept { return device_; }

  // Ends the Next that is under way and gives threads and memory back; batches stay valid.
  void Close() {
    std::shared_ptr<Loader> loader = std::move(loader_);
    // Another thread of the parent may have had the lock, for ever as a child of fork() sees it.
    if (loader == nullptr || forked()) return;
    loader->Cancel();
    const WithoutGil without_gil;
    const std::lock_guard<std::timed_mutex> lock(mutex_);
    loader.reset();
  }

 private:
  // The loader for one call, without the GIL.
  class Turn {
   public:
    explicit Turn(SharedLoader& shared) : Turn(shared, [] { return false; }) {}
    // Gives up waiting for its turn once `enough` says so.
    template <typename Enough>
    Turn(SharedLoader& shared, Enough enough) : loader_(shared.OpenLoader()), mutex_(shared.mutex_) {
      while (!(locked_ = mutex_.try_lock_for(kLooksEvery)) && !enough()) CheckSignals();
    }
    ~Turn() {
      loader_.reset();
      if (locked_) mutex_.unlock();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    Loader& loader() const noexcept { return *loader_; }

   private:
    static constexpr std::chrono::milliseconds kLooksEvery{20};
    std::shared_ptr<Loader> loader_;  // taken with the GIL
    const WithoutGil without_gil_;
    std::timed_mutex& mutex_;
    bool locked_ = false;
  };

  uint64_t Start(const Turn& turn, uint64_t epoch, std::shared_ptr<const Order> order) {
    ++run_;
    over_ = true;  // until it has begun
    turn.loader().StartEpoch(epoch, std::move(order), 0, [&] { WhileWaiting(turn); });
    over_ = false;
    return run_;
  }

  // Ten times a second in the thread whose turn it is.
  void WhileWaiting(const Turn& turn) {
    CheckSignals();
    const std::lock_guard<std::mutex> lock(reports_mutex_);
    if (answered_ == asked_) return;
    answer_ = turn.loader().Report();
    answered_ = asked_;
  }

  // Within Next, without the GIL.
  void Keep(const StepReport& report) {
    constexpr size_t kMostReports = 16;
    const std::lock_guard<std::mutex> lock(reports_mutex_);
    last_step_ = report;
    if (steps_.size() == kMostReports) steps_.erase(steps_.begin());
    steps_.push_back(report);
  }

  uint64_t AskForReport() {
    const std::lock_guard<std::mutex> lock(reports_mutex_);
    return ++asked_;
  }
  std::optional<StallReport> AnswerTo(uint64_t number) {
    const std::lock_guard<std::mutex> lock(reports_mutex_);
    return answered_ < number ? std::nullopt : std::optional(answer_);
  }

  bool forked() const noexcept { return used_in_ != 0 && used_in_ != getpid(); }

  std::shared_ptr<Loader> OpenLoader() {
    if (loader_ == nullptr) {
      { const WithoutGil stops_here_where_the_interpreter_goes; }
      throw Error(LoadError::kStopped, "next", "", -1, "the loader is closed: make a new one");
    }
    if (forked()) {
      throw Error(LoadError::kForked, "next", "", -1,
                  "this loader was used before the process was forked: start processes by spawn, or make it in the "
                  "child before the parent has used one");
    }
    used_in_ = getpid();
    return loader_;
  }

  std::string PathOf(const Error& error) const {
    char path[PATH_MAX];
    const bool known = error.id() >= 0 && source_->Path(static_cast<uint32_t>(error.id()), path, sizeof path);
    return known ? path : error.sample();
  }

  const std::shared_ptr<const FileSource> source_;
  int64_t batches_per_epoch_ = 0;
  std::string device_;

  std::shared_ptr<Loader> loader_;  // guarded by the GIL; null once closed
  pid_t used_in_ = 0;               // guarded by the GIL; 0 before the first call

  std::timed_mutex mutex_;
  uint64_t run_ = 0;  // guarded by the mutex, as is the next
  bool over_ = true;

  std::mutex reports_mutex_;  // taken within the other
  uint64_t asked_ = 0;        // guarded by the mutex, as are the next
  uint64_t answered_ = 0;
  StallReport answer_;
  std::vector<StepReport> steps_;  // not taken yet
  std::optional<StepReport> last_step_;
};

LoaderOptions OptionsFrom(const py::dict& given) {
  LoaderOptions options;
  const auto set = [&given](const char* name, auto& option) {
    using Value = std::remove_reference_t<decltype(option)>;
    if (given.contains(name)) option = given[name].cast<Value>();
  };
  const auto choose = [&given](const char* name, auto& option, const auto& names) {
    using Value = std::remove_reference_t<decltype(option)>;
    if (given.contains(name)) option = EnumFrom<Value>(name, given[name].cast<std::string>(), names);
  };
  set("batch_size", options.batch_size);
  set("drop_last", options.drop_last);
  choose("decode", options.decode, kDecode);
  set("shuffle", options.shuffle);
  set("seed", options.seed);
  set("rank", options.rank);
  set("world_size", options.world_size);
  choose("on_error", options.on_error, kOnError);
  set("max_errors", options.max_errors);
  set("max_pixels", options.limits.max_pixels);
  set("apply_exif", options.limits.apply_exif);
  set("strict", options.limits.strict);
  set("max_file_bytes", options.max_file_bytes);
  if (given.contains("num_workers") && py::isinstance<py::str>(given["num_workers"])) {
    constexpr const char* kWords[] = {"auto"};
    (void)EnumFrom<int>("num_workers", given["num_workers"].cast<std::string>(), kWords);
    options.num_workers = kAutoWorkers;
  } else {
    set("num_workers", options.num_workers);
  }
  set("prefetch_factor", options.prefetch_factor);
  choose("reader", options.reader, kReaders);
  set("queue_depth", options.queue_depth);
  set("index", options.index);
  set("device", options.device);
  choose("normalize_on", options.normalize_on, kNormalizeOn);
  set("pin_memory_for", options.pin_memory_for);
  set("near_device", options.near_device);
  set("grow_slots", options.grow_slots);
  set("memory_limit", options.memory_limit_bytes);
  set("read_deadline", options.read_deadline_seconds);
  set("report_every", options.report_every);
  set("report_file", options.report_file);
  return options;
}

std::unique_ptr<SharedLoader> MakeLoader(const std::shared_ptr<FileSource>& source, const py::object& transform,
                                         const py::dict& given) {
  LoaderOptions options = OptionsFrom(given);
  TransformSpec spec = TransformFrom(transform);
  options.recipe = std::move(spec.recipe);
  options.fixed_size = spec.fixed_size;
  return std::make_unique<SharedLoader>(std::move(options), source);
}

}  // namespace

void BindLoader(py::module_& module) {
  py::class_<SharedLoader>(module, "Loader")
      .def(py::init(&MakeLoader), py::arg("source"), py::arg("transform"), py::arg("options"))
      .def("start_epoch", &SharedLoader::StartEpoch, py::arg("epoch"), py::arg("done"))
      .def("start_list", &SharedLoader::StartList, py::arg("epoch"), py::arg("ids"), py::arg("done"), py::arg("rank"),
           py::arg("world_size"))
      .def("next", &SharedLoader::Next, py::arg("run"), py::arg("timeout") = 0.0, py::arg("stream") = kHostStream)
      .def("stalls", &SharedLoader::Report)
      .def("reset_stalls", &SharedLoader::RestartReport)
      .def("end_epoch", &SharedLoader::EndEpoch)
      .def("take_reports", &SharedLoader::TakeReports)
      .def_property_readonly("last_report", &SharedLoader::last_report)
      .def("write_trace", &SharedLoader::WriteTrace, py::arg("path"))
      .def("close", &SharedLoader::Close)
      .def_property_readonly("device", &SharedLoader::device)
      .def_property_readonly("run", &SharedLoader::run)
      .def_property_readonly("over_budget", &SharedLoader::over_budget)
      .def_property_readonly("batches_per_epoch", &SharedLoader::batches_per_epoch);
}

}  // namespace stoker
