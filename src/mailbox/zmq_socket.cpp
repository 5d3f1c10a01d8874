#include "mailbox/zmq_socket.hpp"

#include <poll.h>
#include <spdlog/fmt/fmt.h>

#include <chrono>
#include <utility>

#include <asio/error.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>

#include "mailbox/fatal_error.hpp"

namespace danaus::mailbox {
namespace {

/// Parts of one message that are thrown away in one turn: libzmq does not bound how many a message
/// has, and nobody else is served meanwhile.
constexpr std::size_t max_parts_discarded_per_turn = 4096;

/// How late a full client's room may be noticed when the edge that told of it was swallowed.
constexpr std::chrono::milliseconds retry_interval{10};

[[noreturn]] void throw_fatal(const char* operation, const zmq::error_t& error) {
  throw FatalError{fmt::format("{} on a mailbox socket failed: {}", operation, error.what())};
}

}  // namespace

class ZmqSocket::State : public std::enable_shared_from_this<State> {
 public:
  State(asio::io_context& context, zmq::context_t& zmq_context, zmq::socket_type type)
      : context_{context}, socket_{zmq_context, type} {}

  zmq::socket_t& socket() noexcept { return socket_; }
  [[nodiscard]] bool is_open() const noexcept { return open_; }

  void watch(OnReady on_ready) {
    on_ready_ = std::move(on_ready);
    descriptor_.emplace(context_, socket_.get(zmq::sockopt::fd));
    wait();
    wake();
  }

  /// Posted, not called: whoever is in the middle of something is not re-entered.
  void wake() {
    if (!open_ || !on_ready_ || wake_posted_) {
      return;
    }
    wake_posted_ = true;
    asio::post(context_, [self = shared_from_this()] {
      self->wake_posted_ = false;
      self->run();
    });
  }

  void wake_when_writable() {
    if (!open_ || wants_room_) {
      return;
    }
    wants_room_ = true;
    if (!retry_timer_) {
      retry_timer_.emplace(context_);
    }
    retry_timer_->expires_after(retry_interval);
    retry_timer_->async_wait([self = shared_from_this()](const std::error_code& error) {
      self->wants_room_ = false;
      if (!error) {
        self->wake();
      }
    });
  }

  /// After any operation: the edge may be gone, the events are not.
  void look() {
    if (!open_) {
      return;
    }
    // ZMQ_EVENTS says of a ROUTER that some client has room, not which: while one is full, news is
    // what counts, and asking for the events would swallow it.
    const bool has_news = wants_room_ && is_signalled();
    if (has_news || (socket_.get(zmq::sockopt::events) & ZMQ_POLLIN) != 0) {
      wake();
    }
  }

  bool receive_part(zmq::message_t& part) {
    for (;;) {
      try {
        return socket_.recv(part, zmq::recv_flags::dontwait).has_value();
      } catch (const zmq::error_t& error) {
        if (error.num() != EINTR) {
          throw_fatal("receive", error);
        }
      }
    }
  }

  /// Throws away what is left of an oversized message; false while some of it remains.
  bool discard_rest() {
    zmq::message_t part;
    for (std::size_t i = 0; discarding_ && i < max_parts_discarded_per_turn; ++i) {
      if (!receive_part(part)) {
        return false;
      }
      discarding_ = part.more();
    }
    return !discarding_;
  }

  std::optional<Received> receive(std::size_t max_parts) {
    if (!open_ || !discard_rest()) {
      return std::nullopt;
    }
    Received received;
    bool more = true;
    while (more && received.parts.size() < max_parts) {
      zmq::message_t part;
      if (!receive_part(part)) {
        return std::nullopt;
      }
      more = part.more();
      received.parts.push_back(std::move(part));
    }
    received.has_excess_parts = more;
    discarding_ = more;
    // The last part carries the connection's properties whatever the socket type prepended.
    received.connection = zmq_msg_get(received.parts.back().handle(), ZMQ_SRCFD);
    return received;
  }

  SendOutcome send_part(std::span<const std::byte> part, bool more) {
    const auto flags =
        zmq::send_flags::dontwait | (more ? zmq::send_flags::sndmore : zmq::send_flags::none);
    for (;;) {
      try {
        return socket_.send(zmq::const_buffer{part.data(), part.size()}, flags) ? SendOutcome::sent
                                                                                : SendOutcome::full;
      } catch (const zmq::error_t& error) {
        if (error.num() == EHOSTUNREACH) {
          return SendOutcome::no_such_peer;
        }
        if (error.num() != EINTR) {
          throw_fatal("send", error);
        }
      }
    }
  }

  void close(int linger_ms) noexcept {
    if (!std::exchange(open_, false)) {
      return;
    }
    try {
      if (descriptor_) {
        // ZeroMQ's descriptor, not ours to close. Nothing of the io_context is kept: this object
        // may outlive it.
        descriptor_->release();
        descriptor_.reset();
      }
      retry_timer_.reset();
      socket_.set(zmq::sockopt::linger, linger_ms);
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
      // Closing goes on without.
    }
    socket_.close();
  }

 private:
  void wait() {
    descriptor_->async_wait(
        asio::posix::stream_descriptor::wait_read,
        [self = shared_from_this()](const std::error_code& error) {
          if (!self->open_ || error == asio::error::operation_aborted) {
            return;
          }
          if (error) {
            throw FatalError{"waiting for a mailbox socket failed: " + error.message()};
          }
          self->run();
          if (self->open_) {
            self->wait();
          }
        });
  }

  [[nodiscard]] bool is_signalled() const {
    pollfd descriptor{.fd = socket_.get(zmq::sockopt::fd), .events = POLLIN, .revents = 0};
    return ::poll(&descriptor, 1, 0) > 0;
  }

  void run() {
    if (!open_) {
      return;
    }
    // Has libzmq take in what is new, so that `on_ready_` finds it.
    (void)socket_.get(zmq::sockopt::events);
    on_ready_();
    look();
  }

  asio::io_context& context_;
  zmq::socket_t socket_;
  std::optional<asio::posix::stream_descriptor> descriptor_;
  std::optional<asio::steady_timer> retry_timer_;
  OnReady on_ready_;
  bool wants_room_ = false;
  bool open_ = true;
  bool wake_posted_ = false;
  bool discarding_ = false;
};

ZmqSocket::ZmqSocket(asio::io_context& context, zmq::context_t& zmq_context, zmq::socket_type type)
    : state_{std::make_shared<State>(context, zmq_context, type)} {}

ZmqSocket::~ZmqSocket() {
  close(0);
}

zmq::socket_t& ZmqSocket::raw() noexcept {
  return state_->socket();
}

void ZmqSocket::watch(OnReady on_ready) {
  state_->watch(std::move(on_ready));
}

std::optional<Received> ZmqSocket::receive(std::size_t max_parts) {
  return state_->receive(max_parts);
}

SendOutcome ZmqSocket::send(std::initializer_list<std::span<const std::byte>> parts) {
  std::size_t left = parts.size();
  for (const auto& part : parts) {
    --left;
    const SendOutcome outcome = state_->send_part(part, left > 0);
    if (outcome != SendOutcome::sent) {
      // Only the first part of a message can meet a full queue or an absent peer; libzmq drops the
      // rest of a message whose peer goes away in the middle by itself.
      state_->look();
      return outcome;
    }
  }
  state_->look();
  return SendOutcome::sent;
}

void ZmqSocket::wake() {
  state_->wake();
}

void ZmqSocket::wake_when_writable() {
  state_->wake_when_writable();
}

void ZmqSocket::close(int linger_ms) noexcept {
  state_->close(linger_ms);
}

bool ZmqSocket::is_open() const noexcept {
  return state_->is_open();
}

}  // namespace danaus::mailbox
