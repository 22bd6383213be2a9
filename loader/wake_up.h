// Wakes the feeder out of its one place of waiting, the reader, from any thread.
#pragma once

#include "loader/reader.h"
#include "transfer/mutex.h"

namespace stoker {

// Whatever frees a buffer or a slot signals here. Outlives the feeder where the caller still holds batches.
// Threads: Signal may be called from any; the rest is the feeder's.
class WakeUp {
 public:
  void Signal() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    // A system call only where the feeder sleeps and nobody has woken it yet.
    if (!signalled_ && reader_ != nullptr && waiting_) reader_->Wake();
    signalled_ = true;
  }

  // The reader that is waited in; null: none any more.
  void Attach(Reader* reader) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    reader_ = reader;
  }

  // Reader::Wait that returns at once where a signal came since the last wait.
  void WaitIn(Reader& reader, std::vector<SampleJob>& done, std::chrono::nanoseconds timeout) EXCLUDES(mutex_) {
    {
      MutexLock lock(mutex_);
      if (signalled_) timeout = timeout.zero();
      waiting_ = true;
    }
    reader.Wait(done, timeout);
    MutexLock lock(mutex_);
    waiting_ = signalled_ = false;
  }

 private:
  Mutex mutex_;
  Reader* reader_ GUARDED_BY(mutex_) = nullptr;
  bool waiting_ GUARDED_BY(mutex_) = false;
  bool signalled_ GUARDED_BY(mutex_) = false;
};

}  // namespace stoker
