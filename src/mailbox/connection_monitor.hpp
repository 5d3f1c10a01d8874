// ConnectionMonitor: hears from libzmq what becomes of a DEALER's one connection.
// `mailbox` thread. Relies on ZmqSocket and zmq_socket_monitor(3).
#pragma once

#include <functional>
#include <optional>

#include <asio/io_context.hpp>
#include <zmq.hpp>

#include "mailbox/zmq_socket.hpp"

namespace danaus::mailbox {

enum class ConnectionEvent : std::uint8_t {
  /// Both sides have agreed on protocol and security: messages flow.
  established,
  /// No connection came about: refused, no route, an unknown host name.
  connect_failed,
  /// Connected, but the handshake was refused for want of the right keys or mechanism.
  authentication_failed,
  /// Connected, but what answered does not speak ZMTP, or hung up in the middle of the handshake.
  handshake_failed,
  /// An established connection has ended.
  disconnected,
};

class ConnectionMonitor {
 public:
  /// Attaches to `dealer`, which has not been connected yet and is closed after this object. Throws
  /// zmq::error_t.
  ConnectionMonitor(asio::io_context& context, zmq::context_t& zmq_context, zmq::socket_t& dealer);
  ConnectionMonitor(const ConnectionMonitor&) = delete;
  ConnectionMonitor& operator=(const ConnectionMonitor&) = delete;
  ~ConnectionMonitor() { close(); }

  /// Starts reporting events; `on_event` may close the monitor.
  void watch(std::function<void(ConnectionEvent)> on_event);

  /// Detaches. Idempotent.
  void close() noexcept;

 private:
  void take_events();

  zmq::socket_t& dealer_;
  ZmqSocket events_;
  std::function<void(ConnectionEvent)> on_event_;
};

/// What an event of zmq_socket_monitor(3) means to us; nothing for one that changes nothing.
[[nodiscard]] std::optional<ConnectionEvent> interpret_monitor_event(std::uint16_t event,
                                                                     std::uint32_t value) noexcept;

}  // namespace danaus::mailbox
