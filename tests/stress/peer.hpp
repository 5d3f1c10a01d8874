// Peer: a worker process that is stopped, killed and started anew, while others use it. Any thread;
// one at a time disturbs it.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "danaus/danaus.hpp"
#include "tests/integration/harness/worker_process.hpp"

namespace danaus::stress {

/// What one life of a peer goes by.
struct Life {
  unsigned number = 0;
  pid_t pid = 0;
  messages::ActorRef ref;
  /// Its one buffer, of zeros at first.
  RemoteBuffer buffer;
};

class Peer {
 public:
  /// Starts its first life. `size` in bytes; `path` as `--soft-path` takes it.
  Peer(std::string identity, std::uint64_t size, std::string path);

  [[nodiscard]] std::shared_ptr<const Life> life() const;

  /// Ends its life by SIGKILL or SIGTERM and begins another at the same endpoint, if it is free.
  void restart(int signal);
  /// Somebody added 1 to the number at the start of its buffer in that life, or perhaps did.
  void counted(unsigned life, bool for_certain);
  struct Count {
    std::uint64_t certain = 0;
    std::uint64_t perhaps = 0;
  };
  /// Of its present life.
  [[nodiscard]] Count count() const;

  /// Restarts that have begun; more than the number of its life: one is under way.
  [[nodiscard]] unsigned restarts_begun() const noexcept { return restarts_begun_; }

  /// Holds it while `body` runs.
  template <class Body>
  void while_stopped(const Body& body) {
    const std::lock_guard lock{disturbing_};
    process_->process().signal(SIGSTOP);
    body();
    process_->process().signal(SIGCONT);
  }

 private:
  void begin(const std::string& bind);

  const std::string identity_;
  const std::uint64_t size_;
  const std::string path_;
  Client client_;
  std::mutex disturbing_;
  std::atomic<unsigned> restarts_begun_ = 0;
  std::optional<integration::WorkerProcess> process_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Life> life_;
  std::map<unsigned, Count> counts_;
};

}  // namespace danaus::stress
