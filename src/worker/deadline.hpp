// Deadlines from time-outs. Any thread.
#pragma once

#include <algorithm>
#include <chrono>

namespace danaus::worker {

using Clock = std::chrono::steady_clock;

/// The longest that anything waits; fits the 32 bits of milliseconds that a header carries.
inline constexpr std::chrono::milliseconds longest_wait{std::chrono::hours{24 * 30}};

/// When a wait of `timeout` that begins now ends.
[[nodiscard]] inline Clock::time_point deadline_after(std::chrono::milliseconds timeout) {
  return Clock::now() + std::clamp(timeout, std::chrono::milliseconds{0}, longest_wait);
}

}  // namespace danaus::worker
