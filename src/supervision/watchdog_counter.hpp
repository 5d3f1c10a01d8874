// WatchdogCounter: the rule by which a thread counts as stalled. Pure: time and beats come in as
// arguments. Used on the `supervisor` thread; relies on nothing.
#pragma once

#include <chrono>
#include <cstdint>

namespace danaus::supervision {

/// What one look at a thread's beats says.
enum class Pulse : std::uint8_t { beating, missing, stalled };

/// Counts its own consecutive ticks without a beat of the watched thread. It does not look at
/// elapsed time: after SIGSTOP and SIGCONT, or on a machine that was suspended, much time has
/// passed in which the thread had no chance to beat. A tick that comes late says that the watchdog
/// itself was not running, so what it counted before tells nothing and the count starts again.
class WatchdogCounter {
 public:
  using Clock = std::chrono::steady_clock;

  /// This many ticks without a beat in a row mean a stall.
  static constexpr unsigned ticks_to_stall = 10;
  /// A tick is late when it comes after this many intervals instead of one.
  static constexpr unsigned late_after_intervals = 2;

  /// `interval` is how far apart the ticks are meant to be.
  explicit WatchdogCounter(Clock::duration interval) : interval_{interval} {}

  /// One tick, at `now`, when the thread has beaten `beats` times since it started.
  [[nodiscard]] Pulse tick(Clock::time_point now, std::uint64_t beats) noexcept;

 private:
  Clock::duration interval_;
  Clock::time_point last_tick_{};
  bool ticked_before_ = false;
  std::uint64_t last_beats_ = 0;
  unsigned missed_ = 0;
};

}  // namespace danaus::supervision
