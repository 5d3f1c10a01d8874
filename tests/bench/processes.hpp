// The two processes of a benchmark: pinned, started from this executable, talking over pipes.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace danaus::bench {

/// One JSON value a line, each way.
class Channel {
 public:
  Channel(int read_fd, int write_fd) : read_fd_{read_fd}, write_fd_{write_fd} {}
  void send(const nlohmann::json& value) const;
  /// Throws when the other side is gone.
  [[nodiscard]] nlohmann::json receive();

 private:
  int read_fd_;
  int write_fd_;
  std::string buffered_;
};

/// Pins the calling thread, and those that it will start, to `cpus`; empty: leaves it alone.
void pin_to(const std::vector<int>& cpus);

/// One of the two processes.
struct Role {
  /// "requester" or "responder"; empty in the process that starts them.
  std::string role;
  std::vector<int> cpus;
  unsigned rounds = 0;
  /// The one measurement to make; empty: all.
  std::string only;
  /// The process's ends of its channel.
  int read_fd = -1;
  int write_fd = -1;
};

/// Runs this executable in that role.
pid_t start_role(const Role& role);

/// Throws unless the process ended well.
void wait_for(pid_t process);

}  // namespace danaus::bench
