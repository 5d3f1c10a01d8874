// FatalError: what code on the mailbox thread throws when the process can no longer be trusted.
// Any thread. No handler's answer is made of it: the mailbox reports it to the FailureSink.
#pragma once

#include <stdexcept>

namespace danaus::mailbox {

/// Says that going on would do harm: a socket of our own that fails in a way it must not, an
/// invariant found broken. Ends the worker.
class FatalError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace danaus::mailbox
