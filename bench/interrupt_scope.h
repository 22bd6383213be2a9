// Ctrl-C and SIGTERM, while long work is under way that keeps what it has done so far.
#pragma once

#include <csignal>

namespace stoker {

// Not 0 once one of them came since the latest scope began.
extern volatile std::sig_atomic_t interrupted;

// While it lives, they set the flag instead of ending the process. One at a time, in one thread.
class InterruptScope {
 public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

 private:
  void (*old_int_)(int);
  void (*old_term_)(int);
};

}  // namespace stoker
