#include "bench/interrupt_scope.h"

namespace stoker {

volatile std::sig_atomic_t interrupted = 0;

namespace {

void HandleInterrupt(int) { interrupted = 1; }

}  // namespace

InterruptScope::InterruptScope() {
  interrupted = 0;
  old_int_ = std::signal(SIGINT, HandleInterrupt);
  old_term_ = std::signal(SIGTERM, HandleInterrupt);
}

InterruptScope::~InterruptScope() {
  (void)std::signal(SIGINT, old_int_);
  (void)std::signal(SIGTERM, old_term_);
}

}  // namespace stoker
