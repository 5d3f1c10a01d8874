#include "transport/completion_waiter.hpp"

#include <poll.h>
#include <sched.h>

#include <algorithm>
#include <ctime>

namespace danaus::transport {
namespace {

using Clock = CompletionWaiter::Clock;

bool runs_on_several_cpus() noexcept {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  // Fails with EINVAL on machines with more CPUs than the set holds (1,024): several, then.
  return sched_getaffinity(0, sizeof cpus, &cpus) != 0 || CPU_COUNT(&cpus) > 1;
}

std::size_t spin(QueuePair& queue_pair, std::span<WorkCompletion> completions,
                 Clock::time_point deadline) {
  const auto end = std::min(Clock::now() + spin_limit, deadline);
  do {
    if (const std::size_t count = queue_pair.poll(completions); count != 0) {
      return count;
    }
  } while (Clock::now() < end);
  return 0;
}

/// Sleeps until `fd` is readable, a signal came, or `deadline`. False: the deadline has passed.
bool sleep_until_readable(int fd, Clock::time_point deadline) {
  pollfd entry{.fd = fd, .events = POLLIN, .revents = 0};
  if (deadline == Clock::time_point::max()) {
    ::ppoll(&entry, 1, nullptr, nullptr);
    return true;
  }
  const auto remaining = deadline - Clock::now();
  if (remaining <= Clock::duration::zero()) {
    return false;
  }
  const auto seconds = std::chrono::floor<std::chrono::seconds>(remaining);
  const timespec timeout{.tv_sec = seconds.count(),
                         .tv_nsec = std::chrono::nanoseconds{remaining - seconds}.count()};
  ::ppoll(&entry, 1, &timeout, nullptr);
  return true;
}

}  // namespace

CompletionWaiter::CompletionWaiter() : may_spin_{runs_on_several_cpus()} {}

std::size_t CompletionWaiter::wait(QueuePair& queue_pair, std::span<WorkCompletion> completions,
                                   std::uint64_t length, Clock::time_point deadline) const {
  if (may_spin_ && length <= spin_length_limit) {
    if (const std::size_t count = spin(queue_pair, completions, deadline); count != 0) {
      return count;
    }
  }
  for (;;) {
    // What completed before arming makes no event: hence poll after it, then sleep.
    queue_pair.arm();
    if (const std::size_t count = queue_pair.poll(completions); count != 0) {
      return count;
    }
    if (!sleep_until_readable(queue_pair.fd(), deadline)) {
      return 0;
    }
    if (const std::size_t count = queue_pair.poll(completions); count != 0) {
      return count;
    }
  }
}

}  // namespace danaus::transport
