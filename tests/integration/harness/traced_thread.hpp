// TracedThread: one thread of another process, held by the debugger interface, so that a test can
// stall it or end it from outside: the binary under test needs no hook for it.
// Only the thread that made it. Relies on ptrace(2) with PTRACE_SEIZE; x86-64 for `make_it_exit`.
#pragma once

#include <sys/types.h>

#include <string>

#include "tests/integration/harness/deadline.hpp"

namespace danaus::integration {

class TracedThread {
 public:
  /// Seizes the thread of `pid` that is called `name` and stops it; the others go on. Throws
  /// std::runtime_error where there is none, std::system_error when tracing is not permitted.
  TracedThread(pid_t pid, const std::string& name);
  TracedThread(const TracedThread&) = delete;
  TracedThread& operator=(const TracedThread&) = delete;
  ~TracedThread();

  /// Makes the thread, and it alone, execute exit(2), and lets go of it.
  void make_it_exit(Deadline deadline = Deadline{});

  /// Reaps the thread if its process has ended: a traced thread keeps its process from being
  /// reported as ended until its tracer has taken note.
  void reap_if_ended();

 private:
  void stop(Deadline deadline);
  void detach() noexcept;

  pid_t tid_ = -1;
  bool attached_ = false;
};

}  // namespace danaus::integration
