#include "transport/soft/responder_connection.hpp"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include <asio/post.hpp>
#include <asio/redirect_error.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include "transport/soft/requester.hpp"
#include "transport/soft/responder.hpp"
#include "transport/soft/route.hpp"
#include "transport/soft/system_call.hpp"

namespace danaus::transport::soft {
namespace {

using namespace std::chrono_literals;

/// Between looks at a queue pair that is not connected yet.
constexpr std::chrono::milliseconds not_ready_pause = 5ms;
/// How long, and for how many bytes, a requester may go on sending after its error status.
constexpr std::chrono::milliseconds drain_patience = 1s;
constexpr std::uint64_t drain_limit = std::uint64_t{64} << 20U;

/// How long a connection that is alone on its thread may keep the thread waiting for it.
constexpr std::chrono::microseconds linger_limit = 1ms;

constexpr std::array<std::byte, 64U << 10U> zeros{};

}  // namespace

ResponderConnection::ResponderConnection(asio::ip::tcp::socket socket, Responder& home,
                                         std::shared_ptr<EngineState> engine)
    : socket_{std::move(socket)},
      timer_{socket_.get_executor()},
      home_{home},
      engine_{std::move(engine)} {
  ::sockaddr_storage peer{};
  ::socklen_t length = sizeof peer;
  // Fails only when the peer is gone already, which the first receive finds out.
  static_cast<void>(
      ::getpeername(socket_.native_handle(), reinterpret_cast<::sockaddr*>(&peer), &length));
  tune(socket_.native_handle(), peer);
}

ResponderConnection::~ResponderConnection() = default;

asio::awaitable<void> ResponderConnection::serve(std::shared_ptr<ResponderConnection> self) {
  self->home_.greet(*self);
  auto hello = self->receive_hello();
  const bool accepted = co_await std::move(hello);
  if (accepted) {
    auto requests = self->serve_requests();
    co_await std::move(requests);
    self->queue_pair_->peer_gone();
  }
  self->close();
  self->home_.leave(*self);
}

void ResponderConnection::close() noexcept {
  asio::error_code ignored;
  socket_.close(ignored);
  timer_.cancel();
}

void ResponderConnection::expire() noexcept {
  count(engine_->counters.expired_connections);
  home_.acquaint(*this);
  close();
}

void ResponderConnection::hang_up() {
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
  if (std::exchange(blocking_, false)) {
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

ResponderConnection::Step ResponderConnection::after_failed_call(int error, Step if_not_ready) {
  if (would_block(error)) {
    return if_not_ready;
  }
  return error == EINTR ? Step::next_turn : Step::lost;
}

// -- hello ----------------------------------------------------------------------------------------

asio::awaitable<bool> ResponderConnection::receive_hello() {
  start_deadline(engine_->hello_timeout);
  std::array<std::byte, sizeof(Hello)> bytes{};
  std::size_t size = 0;
  while (size < bytes.size()) {
    auto wait = until(Step::readable);
    const bool open = co_await std::move(wait);
    if (!open) {
      co_return false;
    }
    const ssize_t result =
        ::recv(socket_.native_handle(), bytes.data() + size, bytes.size() - size, MSG_DONTWAIT);
    if (result > 0) {
      size += static_cast<std::size_t>(result);
    } else if (result == 0 || after_failed_call(errno, Step::readable) == Step::lost) {
      co_return false;
    }
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
      queue_pair_ = queue_pair;
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
    Step step = receive_header();
    if (step == Step::readable) {
      step = linger();
    }
    if (step != Step::done) {
      auto rest = finish(&ResponderConnection::receive_header, step);
      const bool finished = co_await std::move(rest);
      if (!finished) {
        co_return;
      }
    }
    begin_request();
    step = move_payload();
    if (step != Step::done) {
      auto rest = finish(&ResponderConnection::move_payload, step);
      const bool finished = co_await std::move(rest);
      if (!finished) {
        co_return;
      }
    }
    step = send_status();
    if (step != Step::done) {
      auto rest = finish(&ResponderConnection::send_status, step);
      const bool finished = co_await std::move(rest);
      if (!finished) {
        co_return;
      }
    }
    if (status_ != CompletionStatus::success) {
      auto parting = part_after_error();
      co_await std::move(parting);
      co_return;
    }
  }
}

// Goes on with what one step did not finish. False when the connection is over.
asio::awaitable<bool> ResponderConnection::finish(Step (ResponderConnection::*next)(), Step step) {
  while (step != Step::done) {
    auto wait = until(step);
    const bool open = co_await std::move(wait);
    if (!open) {
      co_return false;
    }
    step = (this->*next)();
  }
  co_return true;
}

ResponderConnection::Step ResponderConnection::receive_header() {
  if (header_size_ == header_.size()) {
    return Step::done;
  }
  if (std::exchange(drained_, false)) {
    return Step::readable;
  }
  const std::size_t wanted = header_.size() - header_size_;
  const ssize_t result =
      ::recv(socket_.native_handle(), header_.data() + header_size_, wanted, MSG_DONTWAIT);
  if (result == 0) {
    return Step::lost;
  }
  if (result < 0) {
    return after_failed_call(errno, Step::readable);
  }
  header_size_ += static_cast<std::size_t>(result);
  return header_size_ == header_.size() ? Step::done : Step::readable;
}

// Alone on its thread, it waits for the next request in the system call that reads it, which saves
// the small ones a fifth of their time. Until `linger_until_`, as timers and new connections wait
// meanwhile.
ResponderConnection::Step ResponderConnection::linger() {
  if (!home_.serves_only_one() || std::chrono::steady_clock::now() >= linger_until_) {
    return Step::readable;
  }
  if (!blocking_) {
    blocking_ = block_receives(socket_.native_handle(), linger_limit);
    if (!blocking_) {
      return Step::readable;
    }
  }
  const ssize_t result = ::recv(socket_.native_handle(), header_.data() + header_size_,
                                header_.size() - header_size_, 0);
  if (result == 0) {
    return Step::lost;
  }
  if (result < 0) {
    return after_failed_call(errno, Step::readable);
  }
  drained_ = false;
  header_size_ += static_cast<std::size_t>(result);
  return header_size_ == header_.size() ? Step::done : Step::readable;
}

// Checks the request whose header is there.
void ResponderConnection::begin_request() {
  header_size_ = 0;
  status_ = CompletionStatus::success;
  moved_ = 0;
  chunk_sent_ = 0;
  padding_ = false;
  status_sent_ = 0;
  const std::uint32_t sequence = next_sequence_++;
  const auto request = decode_request(header_);
  if (!request || request->sequence != sequence) {
    count(engine_->counters.malformed_frames);
    request_.sequence = sequence;
    fail_request(CompletionStatus::remote_invalid_request);
    return;
  }
  request_ = *request;
  const bool put = request_.opcode == Opcode::rdma_write;
  count(put ? engine_->counters.puts : engine_->counters.gets);
  if (request_.length == 0) {
    return;
  }
  if (region_ == nullptr || region_->rkey() != request_.rkey || region_->revoked()) {
    region_ = queue_pair_->regions().find_remote(request_.rkey);
  }
  const AccessFlags needed = put ? AccessFlags::remote_write : AccessFlags::remote_read;
  if (region_ == nullptr || !region_->contains(request_.remote_address, request_.length) ||
      !has(region_->access(), needed)) {
    count(engine_->counters.access_errors);
    fail_request(CompletionStatus::remote_access_error);
  }
}

void ResponderConnection::fail_request(CompletionStatus status) noexcept {
  status_ = status;
}

ResponderConnection::Step ResponderConnection::move_payload() {
  if (padding_) {
    return pad_chunk();
  }
  if (status_ != CompletionStatus::success || moved_ == request_.length) {
    return Step::done;
  }
  return request_.opcode == Opcode::rdma_write ? put_turn() : get_turn();
}

// One system call: payload into memory, and with the last of it the header of the next request.
ResponderConnection::Step ResponderConnection::put_turn() {
  if (std::exchange(drained_, false)) {
    return Step::readable;
  }
  const auto turn = queue_pair_->begin_turn();
  if (!turn) {
    return Step::lost;
  }
  const Region::Use use = region_->acquire();
  if (!use) {
    count(engine_->counters.access_errors);
    fail_request(CompletionStatus::remote_access_error);
    return Step::done;
  }
  const std::uint64_t missing = request_.length - moved_;
  const std::uint64_t wanted = std::min(missing, max_turn_length);
  std::array<::iovec, 2> parts{};
  parts[0] = {for_kernel(request_.remote_address + moved_), static_cast<std::size_t>(wanted)};
  parts[1] = {header_.data(), header_.size()};
  const bool last = wanted == missing;
  ::msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = last ? 2 : 1;
  const ssize_t result = ::recvmsg(socket_.native_handle(), &message, MSG_DONTWAIT);
  if (result == 0) {
    return Step::lost;
  }
  if (result < 0) {
    if (errno == EFAULT) {
      count(engine_->counters.memory_faults);
      fail_request(CompletionStatus::remote_operation_error);
      return Step::done;
    }
    return after_failed_call(errno, Step::readable);
  }
  const auto received = static_cast<std::uint64_t>(result);
  const std::uint64_t of_payload = std::min(received, wanted);
  moved_ += of_payload;
  count(engine_->counters.bytes_written, of_payload);
  header_size_ = static_cast<std::size_t>(received - of_payload);
  const std::uint64_t room = wanted + (last ? header_.size() : 0);
  drained_ = received < room;
  if (moved_ == request_.length) {
    return Step::done;
  }
  return std::exchange(drained_, false) ? Step::readable : Step::next_turn;
}

std::uint64_t ResponderConnection::chunk_length() const noexcept {
  return std::min(request_.length - moved_, max_chunk_length);
}

// One system call: a chunk, its header before it, and behind the last one the completion.
ResponderConnection::Step ResponderConnection::get_turn() {
  const auto turn = queue_pair_->begin_turn();
  if (!turn) {
    return Step::lost;
  }
  const std::uint64_t length = chunk_length();
  const bool last = moved_ + length == request_.length;
  const Region::Use use = region_->acquire();
  if (!use) {
    count(engine_->counters.access_errors);
    fail_request(CompletionStatus::remote_access_error);
    padding_ = chunk_sent_ != 0;
    return padding_ ? Step::next_turn : Step::done;
  }
  auto header = encode(Response{.sequence = request_.sequence,
                                .kind = ResponseKind::data,
                                .status = 0,
                                .reserved = 0,
                                .length = length});
  auto completion = encode(Response{.sequence = request_.sequence,
                                    .kind = ResponseKind::completion,
                                    .status = 0,
                                    .reserved = 0,
                                    .length = 0});
  std::array<::iovec, 3> parts{};
  std::size_t used = 0;
  std::uint64_t skip = chunk_sent_;
  const auto add = [&](void* start, std::uint64_t size) {
    const std::uint64_t skipped = std::min(skip, size);
    skip -= skipped;
    if (skipped < size) {
      parts[used++] = {static_cast<char*>(start) + skipped,
                       static_cast<std::size_t>(size - skipped)};
    }
  };
  add(header.data(), header.size());
  add(for_kernel(request_.remote_address + moved_), length);
  if (last) {
    add(completion.data(), completion.size());
  }
  const std::uint64_t whole = header.size() + length + (last ? completion.size() : 0);
  ::msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = used;
  const ssize_t result = ::sendmsg(socket_.native_handle(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (result < 0) {
    if (errno == EFAULT) {
      count(engine_->counters.memory_faults);
      fail_request(CompletionStatus::remote_operation_error);
      padding_ = chunk_sent_ != 0;
      return padding_ ? Step::next_turn : Step::done;
    }
    return after_failed_call(errno, Step::writable);
  }
  chunk_sent_ += static_cast<std::uint64_t>(result);
  if (chunk_sent_ < whole) {
    // The socket is full, or the memory ends there: the next call tells.
    return Step::writable;
  }
  count(engine_->counters.bytes_read, length);
  moved_ += length;
  chunk_sent_ = 0;
  if (last) {
    status_sent_ = completion.size();
    return Step::done;
  }
  return Step::next_turn;
}

// Fills up a chunk that cannot be had, so that the status behind it is found.
ResponderConnection::Step ResponderConnection::pad_chunk() {
  const auto header = encode(Response{.sequence = request_.sequence,
                                      .kind = ResponseKind::data,
                                      .status = 0,
                                      .reserved = 0,
                                      .length = chunk_length()});
  const std::uint64_t whole = header.size() + chunk_length();
  if (chunk_sent_ >= whole) {
    padding_ = false;
    return Step::done;
  }
  const bool in_header = chunk_sent_ < header.size();
  const std::byte* const start = in_header ? header.data() + chunk_sent_ : zeros.data();
  const std::uint64_t size = in_header ? header.size() - chunk_sent_
                                       : std::min<std::uint64_t>(whole - chunk_sent_, zeros.size());
  const ssize_t result = ::send(socket_.native_handle(), start, size, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (result < 0) {
    return after_failed_call(errno, Step::writable);
  }
  chunk_sent_ += static_cast<std::uint64_t>(result);
  return Step::next_turn;
}

ResponderConnection::Step ResponderConnection::send_status() {
  const auto frame = encode(Response{.sequence = request_.sequence,
                                     .kind = ResponseKind::completion,
                                     .status = static_cast<std::uint8_t>(status_),
                                     .reserved = 0,
                                     .length = 0});
  if (status_sent_ == frame.size()) {
    return Step::done;
  }
  const ssize_t result = ::send(socket_.native_handle(), frame.data() + status_sent_,
                                frame.size() - status_sent_, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (result < 0) {
    return after_failed_call(errno, Step::writable);
  }
  status_sent_ += static_cast<std::size_t>(result);
  return status_sent_ == frame.size() ? Step::done : Step::writable;
}

// The requester learns of the error by what it reads, and may be sending meanwhile: closing now
// would reset the connection and throw away the status before it is read.
asio::awaitable<void> ResponderConnection::part_after_error() {
  asio::error_code ignored;
  socket_.shutdown(asio::socket_base::shutdown_send, ignored);
  start_deadline(drain_patience);
  auto rest = finish(&ResponderConnection::discard, Step::next_turn);
  co_await std::move(rest);
}

// One system call: throws away what the requester went on sending.
ResponderConnection::Step ResponderConnection::discard() {
  std::array<std::byte, 64U << 10U> bin{};
  const ssize_t result = ::recv(socket_.native_handle(), bin.data(), bin.size(), MSG_DONTWAIT);
  if (result < 0) {
    return after_failed_call(errno, Step::readable);
  }
  discarded_ += static_cast<std::uint64_t>(result);
  return result == 0 || discarded_ > drain_limit ? Step::lost : Step::next_turn;
}

}  // namespace danaus::transport::soft
