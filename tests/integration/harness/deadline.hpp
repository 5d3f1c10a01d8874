// Deadlines of the integration tests, and the one way to wait for what announces itself by no
// event. Any thread. Relies on nothing.
#pragma once

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <concepts>

namespace danaus::integration {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

/// How long a test waits for what must happen before it calls it missing. Generous: a busy machine
/// with sanitizers must not fail a test.
inline constexpr std::chrono::seconds patience{40};

/// A point in time that a wait must not go past.
class Deadline {
 public:
  explicit Deadline(std::chrono::milliseconds from_now = patience)
      : when_{Clock::now() + from_now} {}

  [[nodiscard]] bool passed() const { return Clock::now() >= when_; }

  /// What poll(2) takes: the milliseconds left, 0 when passed.
  [[nodiscard]] int poll_timeout() const {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(when_ - Clock::now());
    return static_cast<int>(std::max<std::chrono::milliseconds::rep>(0, left.count()));
  }

 private:
  Clock::time_point when_;
};

/// Asks again and again until `condition` holds; false when `deadline` passes first. For state that
/// can only be asked for: another process's memory, its open files, its statistics.
template <std::predicate Condition>
[[nodiscard]] bool eventually(Condition condition, Deadline deadline = Deadline{}) {
  constexpr int pause_ms = 2;
  while (!condition()) {
    if (deadline.passed()) {
      return false;
    }
    ::poll(nullptr, 0, pause_ms);
  }
  return true;
}

}  // namespace danaus::integration
