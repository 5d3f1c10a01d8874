#include "supervision/watchdog_counter.hpp"

namespace danaus::supervision {

Pulse WatchdogCounter::tick(Clock::time_point now, std::uint64_t beats) noexcept {
  const bool late = !ticked_before_ || now - last_tick_ > late_after_intervals * interval_;
  const bool beaten = beats != last_beats_;
  ticked_before_ = true;
  last_tick_ = now;
  last_beats_ = beats;
  if (beaten) {
    missed_ = 0;
    return Pulse::beating;
  }
  missed_ = late ? 0 : missed_ + 1;
  return missed_ >= ticks_to_stall ? Pulse::stalled : Pulse::missing;
}

}  // namespace danaus::supervision
