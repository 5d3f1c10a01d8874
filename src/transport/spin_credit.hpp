// SpinCredit: whether it is worth polling for a moment before going to sleep. One thread at a time.
#pragma once

#include <chrono>
#include <cstdint>

namespace danaus::transport {

/// How long to poll before sleeping. A sleep and its wake-up cost some 5 to 50 µs, about the round
/// trip of a small operation; spinning for longer only takes the core from those who move the bytes
/// (a blind spin made 1 MiB three times slower).
inline constexpr std::chrono::microseconds spin_limit{20};

/// The longest operation worth a spin, in bytes: 64 KiB take some 20 µs at 3 GB/s.
inline constexpr std::uint64_t spin_length_limit = std::uint64_t{64} << 10U;

/// A spin in vain costs its whole length, and keeps the kernel from running both ends on one CPU,
/// which is faster where CPUs are slow to wake each other. So it goes by experience: one in vain
/// takes away what two that paid have earned, and without credit it is tried only now and then.
class SpinCredit {
 public:
  static constexpr unsigned most = 16;
  static constexpr unsigned at_first = 4;
  static constexpr unsigned price_of_a_vain_spin = 2;
  static constexpr unsigned waits_between_trials = 1024;

  /// Counts once the CPUs that the calling thread may run on (sched_getaffinity(2)): with a single
  /// one, a spin keeps from being made what is waited for, so there is none.
  SpinCredit() noexcept;

  /// To be asked once for each wait.
  [[nodiscard]] bool is_worth_spinning() noexcept;

  /// What the spin came to.
  void paid() noexcept;
  void was_in_vain() noexcept;

 private:
  bool may_spin_;
  unsigned credit_ = at_first;
  /// Waits since the last spin.
  unsigned waits_ = 0;
};

}  // namespace danaus::transport
