#include "transport/soft/responder_connection.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <utility>

#include <asio/post.hpp>
#include <asio/redirect_error.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include "transport/soft/responder.hpp"
#include "transport/soft/route.hpp"
#include "transport/soft/system_call.hpp"

namespace danaus::transport::soft {
namespace {

using namespace std::chrono_literals;

/// Between looks at a queue pair that is not connected yet.
constexpr std::chrono::milliseconds not_ready_pause = 5ms;
/// Between looks at a requester whose write waits for a receive.
constexpr std::chrono::milliseconds no_receive_pause = 50ms;
/// How long a requester may go on sending after its error status.
constexpr std::chrono::milliseconds drain_patience = 1s;

/// How long a connection that is alone on its thread may keep the thread waiting for it.
constexpr std::chrono::microseconds linger_limit = 1ms;

/// Whether the peer has closed its end, though what it sent before may not have been read.
bool has_hung_up(int socket) noexcept {
  ::pollfd descriptor{.fd = socket, .events = POLLRDHUP, .revents = 0};
  return ::poll(&descriptor, 1, 0) > 0;
}

}  // namespace

ResponderConnection::ResponderConnection(asio::generic::stream_protocol::socket socket,
                                         Responder& home, std::shared_ptr<EngineState> engine)
    : socket_{std::move(socket)},
      timer_{socket_.get_executor()},
      receive_timer_{socket_.get_executor()},
      home_{home},
      engine_{std::move(engine)} {
  ::sockaddr_storage peer{};
  ::socklen_t length = sizeof peer;
  // Fails only when the peer is gone already, which the first receive finds out.
  static_cast<void>(
      ::getpeername(socket_.native_handle(), reinterpret_cast<::sockaddr*>(&peer), &length));
  within_host_ = peer.ss_family == AF_UNIX;
  tune(socket_.native_handle(), peer);
}

ResponderConnection::~ResponderConnection() = default;

asio::awaitable<void> ResponderConnection::serve(std::shared_ptr<ResponderConnection> self) {
  self->home_.greet(*self);
  auto introduction = self->introduce();
  const bool accepted = co_await std::move(introduction);
  if (accepted) {
    auto requests = self->serve_requests();
    co_await std::move(requests);
    self->requests_->queue_pair().peer_gone();
  }
  self->close();
  self->home_.leave(*self);
}

void ResponderConnection::close() noexcept {
  asio::error_code ignored;
  {
    const std::lock_guard lock{closing_};
    socket_.close(ignored);
  }
  timer_.cancel();
  receive_timer_.cancel();
}

void ResponderConnection::expire() noexcept {
  count(engine_->counters.expired_connections);
  home_.acquaint(*this);
  close();
}

void ResponderConnection::hang_up() {
  {
    // At once: what ends after the queue pair, such as a region, must not be what the requester
    // sees.
    const std::lock_guard lock{closing_};
    if (socket_.is_open()) {
      ::shutdown(socket_.native_handle(), SHUT_RDWR);
    }
  }
  asio::post(socket_.get_executor(), [weak = weak_from_this()] {
    if (const auto self = weak.lock()) {
      self->close();
    }
  });
}

void ResponderConnection::start_deadline(std::chrono::milliseconds patience) {
  timer_.expires_after(patience);
  timer_.async_wait([weak = weak_from_this()](const asio::error_code& error) {
    if (const auto self = error ? nullptr : weak.lock()) {
      self->expire();
    }
  });
}

// Waits for what `step` needs. False when the connection is over.
asio::awaitable<bool> ResponderConnection::until(Step step) {
  asio::error_code error;
  auto token = asio::redirect_error(asio::use_awaitable, error);
  if ((step == Step::readable || step == Step::writable) && std::exchange(blocking_, false)) {
    // So that asio, which waits from here on, knows of it.
    socket_.native_non_blocking(true, error);
  }
  switch (step) {
    case Step::done:
      co_return true;
    case Step::lost:
      co_return false;
    case Step::next_turn: {
      auto turn = asio::post(socket_.get_executor(), asio::use_awaitable);
      co_await std::move(turn);
      break;
    }
    case Step::receive_posted: {
      auto receive = await_receive();
      const bool open = co_await std::move(receive);
      if (!open) {
        co_return false;
      }
      break;
    }
    case Step::readable: {
      auto readable = socket_.async_wait(asio::socket_base::wait_read, token);
      co_await std::move(readable);
      break;
    }
    case Step::writable: {
      auto writable = socket_.async_wait(asio::socket_base::wait_write, token);
      co_await std::move(writable);
      break;
    }
  }
  linger_until_ = std::chrono::steady_clock::now() + linger_limit;
  co_return !error && socket_.is_open();
}

// Until a receive is posted, or for a moment. The requester says how long it waits: nobody reads
// meanwhile, so this has to look whether it is still there.
asio::awaitable<bool> ResponderConnection::await_receive() {
  const bool has_to_wait = requests_->queue_pair().await_receive([weak = weak_from_this()] {
    if (const auto self = weak.lock()) {
      asio::post(self->socket_.get_executor(), [self] { self->receive_timer_.cancel(); });
    }
  });
  if (has_to_wait) {
    receive_timer_.expires_after(no_receive_pause);
    asio::error_code ignored;
    auto token = asio::redirect_error(asio::use_awaitable, ignored);
    auto pause = receive_timer_.async_wait(token);
    co_await std::move(pause);
  }
  co_return socket_.is_open() && !has_hung_up(socket_.native_handle());
}

// -- hello ----------------------------------------------------------------------------------------

asio::awaitable<bool> ResponderConnection::introduce() {
  start_deadline(engine_->hello_timeout);
  if (within_host_) {
    auto probes = exchange_probes();
    const bool reached = co_await std::move(probes);
    if (!reached) {
      co_return false;
    }
  }
  auto hello = receive_hello();
  const bool accepted = co_await std::move(hello);
  co_return accepted;
}

asio::awaitable<bool> ResponderConnection::receive(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    auto wait = until(Step::readable);
    const bool open = co_await std::move(wait);
    if (!open) {
      co_return false;
    }
    const ssize_t result =
        ::recv(socket_.native_handle(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (result > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(result));
    } else if (result == 0 || after_failed_call(errno, Step::readable) == Step::lost) {
      co_return false;
    }
  }
  co_return true;
}

// Answers a probe with ours. False when the requester's memory cannot be read: it will go away.
asio::awaitable<bool> ResponderConnection::exchange_probes() {
  std::array<std::byte, sizeof(Probe)> bytes{};
  auto reception = receive(bytes);
  const bool received = co_await std::move(reception);
  if (!received) {
    co_return false;
  }
  const auto theirs = decode_probe(bytes);
  if (!theirs) {
    count(engine_->counters.malformed_frames);
    co_return false;
  }
  auto peer = reach(socket_.native_handle(), *theirs);
  const auto ours = encode(engine_->nonce.probe(peer ? std::error_code{} : peer.error()));
  // The first that this connection sends: there is room. Who has gone meanwhile may have said hello
  // before.
  static_cast<void>(
      ::send(socket_.native_handle(), ours.data(), ours.size(), MSG_DONTWAIT | MSG_NOSIGNAL));
  if (!peer) {
    count(engine_->counters.refused_copies);
    co_return false;
  }
  peer_ = *std::move(peer);
  co_return true;
}

asio::awaitable<bool> ResponderConnection::receive_hello() {
  std::array<std::byte, sizeof(Hello)> bytes{};
  auto reception = receive(bytes);
  const bool received = co_await std::move(reception);
  if (!received) {
    co_return false;
  }
  const auto hello = decode_hello(bytes);
  if (!hello) {
    count(engine_->counters.malformed_frames);
    co_return false;
  }
  auto search = find_queue_pair(*hello);
  const bool accepted = co_await std::move(search);
  count(accepted ? engine_->counters.accepted_connections : engine_->counters.rejected_connections);
  co_return accepted;
}

// Binds this connection to the queue pair that it names, waiting a while for one that is not
// connected yet.
asio::awaitable<bool> ResponderConnection::find_queue_pair(const Hello& hello) {
  const auto deadline = timer_.expiry();
  for (;;) {
    const auto queue_pair = engine_->queue_pairs.find(hello.destination_queue_pair);
    const Admission admission =
        !queue_pair
            ? Admission::refused
            : queue_pair->admit(hello.source_queue_pair, hello.token, [weak = weak_from_this()] {
                if (const auto self = weak.lock()) {
                  self->hang_up();
                }
              });
    if (admission == Admission::refused) {
      co_return false;
    }
    // Whoever knows the token is no stranger.
    home_.acquaint(*this);
    if (admission == Admission::accepted) {
      requests_.emplace(socket_.native_handle(), queue_pair, engine_->counters, std::move(peer_));
      timer_.cancel();
      co_return true;
    }
    if (!socket_.is_open() || std::chrono::steady_clock::now() >= deadline) {
      co_return false;
    }
    timer_.expires_after(not_ready_pause);
    asio::error_code ignored;
    auto token = asio::redirect_error(asio::use_awaitable, ignored);
    auto pause = timer_.async_wait(token);
    co_await std::move(pause);
  }
}

// -- requests -------------------------------------------------------------------------------------

asio::awaitable<void> ResponderConnection::serve_requests() {
  for (;;) {
    Step step = requests_->receive_header();
    if (step == Step::readable) {
      step = linger();
    }
    if (step == Step::next_turn) {
      auto turn = until(step);
      const bool open = co_await std::move(turn);
      if (!open) {
        co_return;
      }
      continue;
    }
    if (step != Step::done) {
      auto rest = finish(&RequestServer::receive_header, step);
      const bool finished = co_await std::move(rest);
      if (!finished) {
        co_return;
      }
    }
    requests_->begin_request();
    step = requests_->move_payload();
    if (step != Step::done) {
      auto rest = finish(&RequestServer::move_payload, step);
      const bool finished = co_await std::move(rest);
      if (!finished) {
        co_return;
      }
    }
    step = requests_->deliver_immediate();
    if (step != Step::done) {
      auto rest = finish(&RequestServer::deliver_immediate, step);
      const bool finished = co_await std::move(rest);
      if (!finished) {
        co_return;
      }
    }
    step = requests_->send_status();
    if (step != Step::done) {
      auto rest = finish(&RequestServer::send_status, step);
      const bool finished = co_await std::move(rest);
      if (!finished) {
        co_return;
      }
    }
    if (requests_->failed()) {
      auto parting = part_after_error();
      co_await std::move(parting);
      co_return;
    }
  }
}

// Goes on with what one step did not finish. False when the connection is over.
asio::awaitable<bool> ResponderConnection::finish(Step (RequestServer::*next)(), Step step) {
  while (step != Step::done) {
    if (step == Step::next_turn && may_keep_the_thread()) {
      step = ((*requests_).*next)();
      continue;
    }
    auto wait = until(step);
    const bool open = co_await std::move(wait);
    if (!open) {
      co_return false;
    }
    step = ((*requests_).*next)();
  }
  co_return true;
}

// Nobody else is served by this thread, and what else there is has had its turn a moment ago.
bool ResponderConnection::may_keep_the_thread() const {
  return home_.serves_only_one() && std::chrono::steady_clock::now() < linger_until_;
}

// Alone on its thread, it waits for the next request in the system call that reads it, which saves
// two others for each. Until `linger_until_`, as timers and new connections wait meanwhile.
Step ResponderConnection::linger() {
  if (!home_.serves_only_one()) {
    return Step::readable;
  }
  if (!may_keep_the_thread()) {
    // Worth going on with, once others have had their turn, if it came to something.
    return std::exchange(awaited_, false) ? Step::next_turn : Step::readable;
  }
  if (spin()) {
    awaited_ = true;
    return Step::done;
  }
  if (!blocking_) {
    blocking_ = block_receives(socket_.native_handle(), linger_limit);
  }
  const Step step = blocking_ ? requests_->linger() : Step::readable;
  awaited_ = step == Step::done;
  return step;
}

// Whether the next request came while it was polled for. Spares the requester this thread's
// wake-up, which takes as long as a small operation.
bool ResponderConnection::spin() {
  if (!spin_credit_.is_worth_spinning()) {
    return false;
  }
  const auto end = std::chrono::steady_clock::now() + spin_limit;
  do {
    const Step step = requests_->poll_header();
    if (step != Step::readable) {
      spin_credit_.paid();
      return step == Step::done;
    }
  } while (std::chrono::steady_clock::now() < end);
  spin_credit_.was_in_vain();
  return false;
}

// The requester learns of the error by what it reads, and may be sending meanwhile: closing now
// would reset the connection and throw away the status before it is read.
asio::awaitable<void> ResponderConnection::part_after_error() {
  asio::error_code ignored;
  socket_.shutdown(asio::socket_base::shutdown_send, ignored);
  start_deadline(drain_patience);
  auto rest = finish(&RequestServer::discard, Step::next_turn);
  co_await std::move(rest);
}

}  // namespace danaus::transport::soft
