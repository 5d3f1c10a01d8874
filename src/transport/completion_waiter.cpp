#include "transport/completion_waiter.hpp"

#include <algorithm>

namespace danaus::transport {
namespace {

std::size_t spin(QueuePair& queue_pair, std::span<WorkCompletion> completions,
                 std::chrono::microseconds limit, CompletionWaiter::Clock::time_point deadline) {
  const auto end = std::min(CompletionWaiter::Clock::now() + limit, deadline);
  do {
    if (const std::size_t count = queue_pair.poll(completions); count != 0) {
      return count;
    }
  } while (CompletionWaiter::Clock::now() < end);
  return 0;
}

}  // namespace

std::size_t CompletionWaiter::wait(QueuePair& queue_pair, std::span<WorkCompletion> completions,
                                   std::uint64_t length, Clock::time_point deadline) {
  const std::chrono::microseconds limit = queue_pair.worth_polling_for(length);
  if (limit.count() != 0 && credit_.is_worth_spinning()) {
    if (const std::size_t count = spin(queue_pair, completions, limit, deadline); count != 0) {
      credit_.paid();
      return count;
    }
    credit_.was_in_vain();
  }
  while (queue_pair.sleep(deadline)) {
    if (const std::size_t count = queue_pair.poll(completions); count != 0) {
      return count;
    }
  }
  return 0;
}

}  // namespace danaus::transport
