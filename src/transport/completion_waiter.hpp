// CompletionWaiter: how a thread waits for the completions of a queue pair, on any transport: spin
// briefly for a small operation, then sleep.
// One thread at a time. Relies on transport.hpp.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/transport.hpp"

namespace danaus::transport {

/// How long to poll before sleeping. A sleep and its wake-up cost some 5 to 50 µs, about the round
/// trip of a small operation; spinning for longer only takes the core from those who move the bytes
/// (a blind spin made 1 MiB three times slower).
inline constexpr std::chrono::microseconds spin_limit{20};

/// The longest operation worth a spin, in bytes: 64 KiB take some 20 µs at 3 GB/s.
inline constexpr std::uint64_t spin_length_limit = std::uint64_t{64} << 10U;

class CompletionWaiter {
 public:
  using Clock = std::chrono::steady_clock;

  /// Counts once the CPUs that the calling thread may run on (sched_getaffinity(2)): with a single
  /// one, a spin keeps the peer's answer from being made, so there is none.
  CompletionWaiter();

  /// Returns as soon as `completions` holds some (how many), or 0 once `deadline` has passed.
  /// `length` is that of the operation waited for. Clock::time_point::max() waits without bound.
  [[nodiscard]] std::size_t wait(QueuePair& queue_pair, std::span<WorkCompletion> completions,
                                 std::uint64_t length, Clock::time_point deadline) const;

 private:
  bool may_spin_;
};

}  // namespace danaus::transport
