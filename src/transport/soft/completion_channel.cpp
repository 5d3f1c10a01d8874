#include "transport/soft/completion_channel.hpp"

#include <spdlog/fmt/fmt.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace danaus::transport::soft {
namespace {

bool control(int set, int operation, int descriptor, std::uint32_t events) noexcept {
  ::epoll_event event{};
  event.events = events;
  event.data.fd = descriptor;
  return ::epoll_ctl(set, operation, descriptor, &event) == 0;
}

std::uint32_t events_of(bool writable) noexcept {
  return writable ? std::uint32_t{EPOLLIN} | EPOLLOUT : std::uint32_t{EPOLLIN};
}

}  // namespace

std::expected<CompletionChannel, Error> CompletionChannel::make() {
  FileDescriptor set{::epoll_create1(EPOLL_CLOEXEC)};
  FileDescriptor event;
  if (set) {
    event = FileDescriptor{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  }
  if (!set || !event || !control(set.get(), EPOLL_CTL_ADD, event.get(), EPOLLIN)) {
    return std::unexpected{
        Error{ErrorCode::resource_exhausted,
              fmt::format("cannot create a completion channel: {}; raise the limit on open files "
                          "(ulimit -n)",
                          std::error_code{errno, std::generic_category()}.message())}};
  }
  return CompletionChannel{std::move(set), std::move(event)};
}

bool CompletionChannel::watch(int socket, bool on, bool writable) noexcept {
  const std::uint32_t wanted = on ? events_of(writable) : 0;
  if (wanted == watched_) {
    return true;
  }
  int operation = EPOLL_CTL_MOD;
  if (watched_ == 0) {
    operation = EPOLL_CTL_ADD;
  } else if (wanted == 0) {
    operation = EPOLL_CTL_DEL;
  }
  watched_ = wanted;
  return control(set_.get(), operation, socket, wanted);
}

void CompletionChannel::signal() noexcept {
  if (armed_) {
    armed_ = false;
    signalled_ = true;
    static_cast<void>(::eventfd_write(event_.get(), 1));
  }
}

void CompletionChannel::acknowledge() noexcept {
  if (signalled_) {
    signalled_ = false;
    ::eventfd_t ignored = 0;
    static_cast<void>(::eventfd_read(event_.get(), &ignored));
  }
}

}  // namespace danaus::transport::soft
