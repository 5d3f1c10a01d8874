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

/// A spin in vain costs its whole length, and keeps the kernel from running both ends on one CPU,
/// which is faster where CPUs are slow to wake each other. So it goes by experience: one in vain
/// takes away what two that paid have earned, and without credit it is tried only now and then.
inline constexpr unsigned most_spin_credit = 16;
inline constexpr unsigned first_spin_credit = 4;
inline constexpr unsigned price_of_a_vain_spin = 2;
inline constexpr unsigned waits_between_trials = 1024;

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
                                 std::uint64_t length, Clock::time_point deadline);

 private:
  [[nodiscard]] bool is_worth_spinning() noexcept;

  bool may_spin_;
  unsigned spin_credit_ = first_spin_credit;
  /// Waits since the last spin.
  unsigned waits_ = 0;
};

}  // namespace danaus::transport
