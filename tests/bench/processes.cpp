#include "tests/bench/processes.hpp"

#include <fcntl.h>
#include <sched.h>
#include <spdlog/fmt/fmt.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace danaus::bench {

void Channel::send(const nlohmann::json& value) const {
  const std::string line = value.dump() + "\n";
  // A line is shorter than PIPE_BUF, so it goes whole or not at all (pipe(7)).
  if (::write(write_fd_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    throw std::system_error{errno, std::generic_category(), "write to the other process"};
  }
}

nlohmann::json Channel::receive() {
  for (;;) {
    if (const auto end = buffered_.find('\n'); end != std::string::npos) {
      auto value = nlohmann::json::parse(buffered_.substr(0, end));
      buffered_.erase(0, end + 1);
      return value;
    }
    std::array<char, 4096> chunk{};
    const ssize_t count = ::read(read_fd_, chunk.data(), chunk.size());
    if (count <= 0) {
      throw std::runtime_error{"the other process of the benchmark is gone"};
    }
    buffered_.append(chunk.data(), static_cast<std::size_t>(count));
  }
}

void pin_to(const std::vector<int>& cpus) {
  if (cpus.empty()) {
    return;
  }
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) {
    CPU_SET(cpu, &set);
  }
  if (::sched_setaffinity(0, sizeof set, &set) != 0) {
    throw std::system_error{errno, std::generic_category(), "sched_setaffinity"};
  }
}

pid_t start_role(const Role& role) {
  const pid_t process = ::fork();
  if (process != 0) {
    return process;
  }
  pin_to(role.cpus);
  // Its own ends only: so that each process notices when the other is gone.
  ::fcntl(role.read_fd, F_SETFD, 0);
  ::fcntl(role.write_fd, F_SETFD, 0);
  const std::string rounds = std::to_string(role.rounds);
  const std::string read_fd = std::to_string(role.read_fd);
  const std::string write_fd = std::to_string(role.write_fd);
  ::execl("/proc/self/exe", "bench_soft_vs_socket", "--role", role.role.c_str(), "--rounds",
          rounds.c_str(), "--only", role.only.c_str(), "--read-fd", read_fd.c_str(), "--write-fd",
          write_fd.c_str(), nullptr);
  ::_exit(127);
}

void wait_for(pid_t process) {
  int status = 0;
  if (::waitpid(process, &status, 0) != process || status != 0) {
    throw std::runtime_error{fmt::format("a process of the benchmark failed (status {})", status)};
  }
}

}  // namespace danaus::bench
