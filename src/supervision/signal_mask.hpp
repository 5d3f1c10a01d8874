// BlockedSignals: threads that are started within its scope take no asynchronous signal, so that
// SIGTERM, SIGINT and the like go to the threads of the program that embeds the worker.
// Any thread; changes the mask of the calling thread for the scope.
#pragma once

#include <csignal>

namespace danaus::supervision {

class BlockedSignals {
 public:
  BlockedSignals() noexcept;
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;
  ~BlockedSignals();

 private:
  sigset_t before_{};
};

}  // namespace danaus::supervision
