#include "mailbox/connection_monitor.hpp"

#include <spdlog/fmt/fmt.h>

#include <atomic>
#include <cstring>
#include <utility>

#include "mailbox/fatal_error.hpp"

namespace danaus::mailbox {
namespace {

constexpr int watched_events =
    ZMQ_EVENT_CONNECT_RETRIED | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED |
    ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
    ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;

/// inproc names are per ZeroMQ context, but unique ones are easier to read in a trace.
std::string next_monitor_address() {
  static std::atomic<std::uint64_t> next{0};
  return fmt::format("inproc://danaus-monitor-{}", next.fetch_add(1));
}

}  // namespace

std::optional<ConnectionEvent> interpret_monitor_event(std::uint16_t event,
                                                       std::uint32_t value) noexcept {
  switch (event) {
    case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
      return ConnectionEvent::established;
    case ZMQ_EVENT_CONNECT_RETRIED:
      return ConnectionEvent::connect_failed;
    case ZMQ_EVENT_DISCONNECTED:
      return ConnectionEvent::disconnected;
    case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
      return ConnectionEvent::authentication_failed;
    case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
      return value == ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH ||
                     value == ZMQ_PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC ||
                     value == ZMQ_PROTOCOL_ERROR_ZMTP_KEY_EXCHANGE
                 ? ConnectionEvent::authentication_failed
                 : ConnectionEvent::handshake_failed;
    case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL:
      return ConnectionEvent::handshake_failed;
    default:
      return std::nullopt;
  }
}

ConnectionMonitor::ConnectionMonitor(asio::io_context& context, zmq::context_t& zmq_context,
                                     zmq::socket_t& dealer)
    : dealer_{dealer}, events_{context, zmq_context, zmq::socket_type::pair} {
  const std::string address = next_monitor_address();
  if (zmq_socket_monitor(dealer.handle(), address.c_str(), watched_events) != 0) {
    throw zmq::error_t{};
  }
  events_.raw().set(zmq::sockopt::linger, 0);
  events_.raw().connect(address);
}

void ConnectionMonitor::watch(std::function<void(ConnectionEvent)> on_event) {
  on_event_ = std::move(on_event);
  events_.watch([this] { take_events(); });
}

void ConnectionMonitor::close() noexcept {
  if (!events_.is_open()) {
    return;
  }
  // First of all no more events: libzmq's I/O thread sends them by a call that waits for as long as
  // nobody is there to receive, and with it wait all connections of the context.
  (void)zmq_socket_monitor(dealer_.handle(), nullptr, 0);
  events_.close(0);
}

void ConnectionMonitor::take_events() {
  // A connection has few events in its life: no bound is needed. `on_event_` may close us.
  while (events_.is_open()) {
    const std::optional<Received> received = events_.receive(2);
    if (!received) {
      return;
    }
    // First part: 16 bits of event, 32 bits of value, in host order (zmq_socket_monitor(3)).
    const zmq::message_t& part = received->parts.front();
    std::uint16_t event = 0;
    std::uint32_t value = 0;
    if (part.size() != sizeof event + sizeof value) {
      throw FatalError{"libzmq sent a monitor event of an unknown form"};
    }
    std::memcpy(&event, part.data(), sizeof event);
    std::memcpy(&value, static_cast<const std::byte*>(part.data()) + sizeof event, sizeof value);
    if (const auto meaning = interpret_monitor_event(event, value)) {
      on_event_(*meaning);
    }
  }
}

}  // namespace danaus::mailbox
