#include "transport/completion_waiter.hpp"

#include <sched.h>

#include <algorithm>

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

}  // namespace

CompletionWaiter::CompletionWaiter() : may_spin_{runs_on_several_cpus()} {}

std::size_t CompletionWaiter::wait(QueuePair& queue_pair, std::span<WorkCompletion> completions,
                                   std::uint64_t length, Clock::time_point deadline) const {
  if (may_spin_ && length <= spin_length_limit) {
    if (const std::size_t count = spin(queue_pair, completions, deadline); count != 0) {
      return count;
    }
  }
  while (queue_pair.sleep(deadline)) {
    if (const std::size_t count = queue_pair.poll(completions); count != 0) {
      return count;
    }
  }
  return 0;
}

}  // namespace danaus::transport
