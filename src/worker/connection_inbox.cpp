#include "worker/connection_inbox.hpp"

#include <spdlog/fmt/fmt.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

namespace danaus::worker {

ConnectionInbox::ConnectionInbox() : event_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)} {
  if (event_ < 0) {
    throw Error{ErrorCode::resource_exhausted,
                fmt::format("cannot wait for connections: eventfd failed: {}; raise the limit on "
                            "open files (ulimit -n) or close queue pairs",
                            std::generic_category().message(errno))};
  }
}

ConnectionInbox::~ConnectionInbox() {
  ::close(event_);
}

void ConnectionInbox::deliver(std::size_t which, Connected connected) {
  const std::lock_guard lock{mutex_};
  arrivals_.push_back({which, std::move(connected)});
  signal();
}

void ConnectionInbox::end(const Error& reason) {
  const std::lock_guard lock{mutex_};
  if (!ended_) {
    ended_ = reason;
    signal();
  }
}

std::vector<ConnectionInbox::Arrival> ConnectionInbox::take() {
  const std::lock_guard lock{mutex_};
  if (!ended_) {
    // Fails where there is nothing to read, which is as well.
    std::uint64_t count = 0;
    [[maybe_unused]] const auto read = ::read(event_, &count, sizeof count);
  }
  return std::exchange(arrivals_, {});
}

std::optional<Error> ConnectionInbox::ended() {
  const std::lock_guard lock{mutex_};
  return ended_;
}

void ConnectionInbox::signal() const noexcept {
  // Cannot fail: far fewer than 2^64 are written.
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(event_, &one, sizeof one);
}

}  // namespace danaus::worker
