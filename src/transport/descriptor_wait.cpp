#include "transport/descriptor_wait.hpp"

#include <ctime>

namespace danaus::transport {

bool sleep_until_ready(std::span<pollfd> descriptors,
                       std::chrono::steady_clock::time_point deadline) noexcept {
  using Clock = std::chrono::steady_clock;
  if (deadline == Clock::time_point::max()) {
    ::ppoll(descriptors.data(), descriptors.size(), nullptr, nullptr);
    return true;
  }
  const auto remaining = deadline - Clock::now();
  if (remaining <= Clock::duration::zero()) {
    return false;
  }
  const auto seconds = std::chrono::floor<std::chrono::seconds>(remaining);
  const timespec timeout{.tv_sec = seconds.count(),
                         .tv_nsec = std::chrono::nanoseconds{remaining - seconds}.count()};
  ::ppoll(descriptors.data(), descriptors.size(), &timeout, nullptr);
  return true;
}

}  // namespace danaus::transport
