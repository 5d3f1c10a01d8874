// What is fatal to a worker, and whom to tell.
#pragma once

#include <string>

namespace danaus {

/// A failure that ends the worker: which component, what happened.
struct Failure {
  /// The thread or device that failed, e.g. "mailbox", "responder-0", "soft0".
  std::string component;
  /// What happened, for people.
  std::string reason;
};

/// Takes reports of what is fatal. Implemented by the supervisor; mailbox and transports report to
/// it. Callable from any thread; may not return.
class FailureSink {
 public:
  FailureSink() = default;
  FailureSink(const FailureSink&) = delete;
  FailureSink& operator=(const FailureSink&) = delete;
  virtual ~FailureSink() = default;

  virtual void fail(Failure failure) = 0;
};

}  // namespace danaus
