#include "transport/async_wakeup.hpp"

#include <spdlog/fmt/fmt.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

#include "messages/error.hpp"

namespace danaus::transport {
namespace {

bool add(int epoll_fd, int fd, std::uint32_t events) noexcept {
  epoll_event event{.events = events, .data = {.fd = fd}};
  return ::epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

void close_if_open(int fd) noexcept {
  if (fd >= 0) {
    ::close(fd);
  }
}

}  // namespace

AsyncWakeup::AsyncWakeup(int queue_pair_fd)
    : queue_pair_fd_{queue_pair_fd},
      epoll_fd_{::epoll_create1(EPOLL_CLOEXEC)},
      event_fd_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)} {
  if (epoll_fd_ >= 0 && event_fd_ >= 0 && add(epoll_fd_, event_fd_, EPOLLIN) &&
      add(epoll_fd_, queue_pair_fd_, 0)) {
    return;
  }
  const int error = errno;
  close_if_open(event_fd_);
  close_if_open(epoll_fd_);
  throw Error{
      ErrorCode::resource_exhausted,
      fmt::format("cannot make the wake-up fds of a queue pair: {}; raise the limit on open "
                  "files (ulimit -n) or close queue pairs",
                  std::generic_category().message(error))};
}

AsyncWakeup::~AsyncWakeup() {
  ::close(event_fd_);
  ::close(epoll_fd_);
}

void AsyncWakeup::watch(bool on) noexcept {
  if (on == watching_) {
    return;
  }
  epoll_event event{.events = on ? std::uint32_t{EPOLLIN} : 0, .data = {.fd = queue_pair_fd_}};
  ::epoll_ctl(epoll_fd_, EPOLL_CTL_MOD, queue_pair_fd_, &event);
  watching_ = on;
}

void AsyncWakeup::raise(bool on) noexcept {
  if (on == raised_) {
    return;
  }
  std::uint64_t count = 1;
  // Neither can fail: the count is 0 before a write and 1 before a read.
  if (on) {
    [[maybe_unused]] const auto written = ::write(event_fd_, &count, sizeof count);
  } else {
    [[maybe_unused]] const auto read = ::read(event_fd_, &count, sizeof count);
  }
  raised_ = on;
}

}  // namespace danaus::transport
