#include "transport/soft/background_progress.hpp"

#include <sys/epoll.h>

#include <utility>

#include <asio/error_code.hpp>
#include <asio/post.hpp>

#include "transport/soft/file_descriptor.hpp"

namespace danaus::transport::soft {

bool BackgroundProgress::open() {
  FileDescriptor set{::epoll_create1(EPOLL_CLOEXEC)};
  if (!set) {
    return false;
  }
  set_.emplace(data_);
  asio::error_code error;
  set_->assign(set.get(), error);
  if (error) {
    set_.reset();
    return false;
  }
  static_cast<void>(set.release());
  return true;
}

bool BackgroundProgress::attach(int socket, bool writable, std::function<void()> on_ready) {
  if (closed_ || (!set_ && !open())) {
    return false;
  }
  if (!attached_ || writable_ != writable) {
    ::epoll_event event{};
    event.events = writable ? std::uint32_t{EPOLLIN} | EPOLLOUT : std::uint32_t{EPOLLIN};
    const int operation = attached_ ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    if (::epoll_ctl(set_->native_handle(), operation, socket, &event) != 0) {
      return false;
    }
    attached_ = true;
    writable_ = writable;
  }
  if (!waiting_) {
    waiting_ = true;
    set_->async_wait(asio::posix::stream_descriptor::wait_read,
                     [on_ready = std::move(on_ready)](const asio::error_code& error) {
                       if (!error) {
                         on_ready();
                       }
                     });
  }
  return true;
}

void BackgroundProgress::take_turn(std::function<void()> on_turn) {
  if (!closed_ && !turn_due_) {
    turn_due_ = true;
    asio::post(data_, std::move(on_turn));
  }
}

void BackgroundProgress::detach(int socket) noexcept {
  if (attached_) {
    attached_ = false;
    if (set_ && socket >= 0) {
      static_cast<void>(::epoll_ctl(set_->native_handle(), EPOLL_CTL_DEL, socket, nullptr));
    }
  }
}

void BackgroundProgress::close() noexcept {
  closed_ = true;
  attached_ = false;
  set_.reset();
}

}  // namespace danaus::transport::soft
