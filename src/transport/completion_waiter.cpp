#include "transport/completion_waiter.hpp"

#include <sched.h>

#include <algorithm>

namespace danaus::transport {
namespace {

bool runs_on_several_cpus() noexcept {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  // Fails with EINVAL on machines with more CPUs than the set holds (1,024): several, then.
  return sched_getaffinity(0, sizeof cpus, &cpus) != 0 || CPU_COUNT(&cpus) > 1;
}

std::size_t spin(QueuePair& queue_pair, std::span<WorkCompletion> completions,
                 CompletionWaiter::Clock::time_point deadline) {
  const auto end = std::min(CompletionWaiter::Clock::now() + spin_limit, deadline);
  do {
    if (const std::size_t count = queue_pair.poll(completions); count != 0) {
      return count;
    }
  } while (CompletionWaiter::Clock::now() < end);
  return 0;
}

}  // namespace

CompletionWaiter::CompletionWaiter() : may_spin_{runs_on_several_cpus()} {}

bool CompletionWaiter::is_worth_spinning() noexcept {
  if (!may_spin_ || (spin_credit_ == 0 && ++waits_ < waits_between_trials)) {
    return false;
  }
  waits_ = 0;
  return true;
}

std::size_t CompletionWaiter::wait(QueuePair& queue_pair, std::span<WorkCompletion> completions,
                                   std::uint64_t length, Clock::time_point deadline) {
  if (length <= spin_length_limit && is_worth_spinning()) {
    if (const std::size_t count = spin(queue_pair, completions, deadline); count != 0) {
      spin_credit_ = std::min(spin_credit_ + 1, most_spin_credit);
      return count;
    }
    spin_credit_ -= std::min(spin_credit_, price_of_a_vain_spin);
  }
  while (queue_pair.sleep(deadline)) {
    if (const std::size_t count = queue_pair.poll(completions); count != 0) {
      return count;
    }
  }
  return 0;
}

}  // namespace danaus::transport
