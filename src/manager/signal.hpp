// Signal: a condition variable for coroutines. Waiters look at what they wait for, sleep, look
// again. One thread (`mailbox`): nothing can change between the look and the sleep.
#pragma once

#include <chrono>
#include <vector>

#include <asio/awaitable.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>

namespace danaus::manager {

using Clock = std::chrono::steady_clock;

/// For waits that something else bounds.
inline constexpr Clock::time_point no_deadline = Clock::time_point::max();

class Signal {
 public:
  explicit Signal(asio::io_context& context) : context_{context} {}
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;
  ~Signal() = default;

  /// Sleeps until the next `notify`, at most until `deadline`. Whoever sleeps keeps the signal
  /// alive.
  asio::awaitable<void> wait_until(Clock::time_point deadline);

  /// Wakes all who sleep now.
  void notify();

 private:
  asio::io_context& context_;
  std::vector<asio::steady_timer*> sleepers_;
};

}  // namespace danaus::manager
