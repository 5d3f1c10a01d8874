// sleep_until_ready: poll(2) on descriptors with a point in time for its end. Any thread.
#pragma once

#include <poll.h>

#include <chrono>
#include <span>

namespace danaus::transport {

/// Sleeps until one of `descriptors` is ready, a signal came, or `deadline`; time_point::max()
/// waits without bound. False: the deadline has passed.
bool sleep_until_ready(std::span<pollfd> descriptors,
                       std::chrono::steady_clock::time_point deadline) noexcept;

}  // namespace danaus::transport
