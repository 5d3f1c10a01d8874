// CompletionWaiter: how a thread waits for the completions of a queue pair, on any transport: spin
// briefly for a small operation, then sleep.
// One thread at a time. Relies on transport.hpp.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/spin_credit.hpp"
#include "transport/transport.hpp"

namespace danaus::transport {

class CompletionWaiter {
 public:
  using Clock = std::chrono::steady_clock;

  /// Returns as soon as `completions` holds some (how many), or 0 once `deadline` has passed.
  /// `length` is that of the operation waited for. Clock::time_point::max() waits without bound.
  [[nodiscard]] std::size_t wait(QueuePair& queue_pair, std::span<WorkCompletion> completions,
                                 std::uint64_t length, Clock::time_point deadline);

 private:
  SpinCredit credit_;
};

}  // namespace danaus::transport
