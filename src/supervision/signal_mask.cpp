#include "supervision/signal_mask.hpp"

#include <pthread.h>

namespace danaus::supervision {

namespace {

// Raised by the thread's own instructions: blocked, they would end the process without a handler
// being asked (signal(7)). SIGPROF is sent to the thread that a profiler samples.
constexpr int left_open[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF};

}  // namespace

BlockedSignals::BlockedSignals() noexcept {
  sigset_t blocked{};
  sigfillset(&blocked);
  for (const int signal : left_open) {
    sigdelset(&blocked, signal);
  }
  pthread_sigmask(SIG_BLOCK, &blocked, &before_);
}

BlockedSignals::~BlockedSignals() {
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace danaus::supervision
