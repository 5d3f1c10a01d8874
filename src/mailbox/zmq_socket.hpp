// ZmqSocket: the one class that receives on and sends to a ZeroMQ socket, and that watches it.
// `mailbox` thread only. Never blocks. Relies on asio and cppzmq.
//
// ZMQ_FD is edge-triggered: any call into the socket, a send too, may swallow the edge that says
// "readable" (zmq_getsockopt(3), ZMQ_FD). So nobody else touches the socket, and after every
// operation this class looks at ZMQ_EVENTS and calls back as long as something is there.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <asio/io_context.hpp>
#include <zmq.hpp>

namespace danaus::mailbox {

/// The bytes of a part, without a copy.
[[nodiscard]] inline std::span<const std::byte> bytes_of(const zmq::message_t& part) {
  return {static_cast<const std::byte*>(part.data()), part.size()};
}

[[nodiscard]] inline std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span{text});
}

/// One message as it came.
struct Received {
  std::vector<zmq::message_t> parts;
  /// It had more parts than were asked for; those were dropped.
  bool has_excess_parts = false;
  /// The descriptor of the connection that it came on: tells connections apart while both are open.
  /// -1 where ZeroMQ does not say.
  int connection = -1;
};

enum class SendOutcome : std::uint8_t {
  sent,
  /// The peer's queue is at its high-water mark.
  full,
  /// Nobody with this routing id is connected (ROUTER with MANDATORY).
  no_such_peer,
};

class ZmqSocket {
 public:
  /// Called when there may be something to receive or room to send; returns after a bounded number
  /// of messages and is called again as long as some are left. May close the socket.
  using OnReady = std::function<void()>;

  /// Throws zmq::error_t (EMFILE: no descriptors or sockets left).
  ZmqSocket(asio::io_context& context, zmq::context_t& zmq_context, zmq::socket_type type);
  ZmqSocket(const ZmqSocket&) = delete;
  ZmqSocket& operator=(const ZmqSocket&) = delete;
  ~ZmqSocket();

  /// For options, bind and connect, before `watch`.
  [[nodiscard]] zmq::socket_t& raw() noexcept;

  /// Starts calling `on_ready`. Once, after bind or connect.
  void watch(OnReady on_ready);

  /// The next message, its first `max_parts` parts; nothing where none is there. Throws FatalError.
  [[nodiscard]] std::optional<Received> receive(std::size_t max_parts);

  /// Sends one message of these parts, all or nothing. Throws FatalError.
  SendOutcome send(std::initializer_list<std::span<const std::byte>> parts);

  /// Has `on_ready` called once more, soon.
  void wake();

  /// Has `on_ready` called when the socket may have room for what was `full`. ZeroMQ tells that too
  /// by an edge alone, which a call of our own may swallow: so it is called after a few
  /// milliseconds in any case.
  void wake_when_writable();

  /// Closes; what is unsent lingers in the background for at most `linger_ms`. Idempotent.
  void close(int linger_ms) noexcept;
  [[nodiscard]] bool is_open() const noexcept;

 private:
  class State;
  // Shared with the handlers that wait in the io_context: they outlive this object.
  std::shared_ptr<State> state_;
};

}  // namespace danaus::mailbox
