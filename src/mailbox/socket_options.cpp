#include "mailbox/socket_options.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "messages/codec.hpp"

namespace danaus::mailbox {
namespace {

// A host that died without a word is noticed after `heartbeat_timeout_ms`. Longer than the ten
// seconds for which a process is commonly stopped (a debugger, a snapshot): it is slow, not gone.
constexpr int heartbeat_interval_ms = 5'000;
constexpr int heartbeat_timeout_ms = 20'000;
constexpr int heartbeat_ttl_ms = 30'000;

/// Messages of one client that libzmq itself may hold, each way; replies beyond wait in our queue,
/// which is bounded in bytes too.
constexpr int inbound_high_water_mark = 64;

/// ZeroMQ must not reconnect behind our back: the new connection may lead to a new life of the
/// peer, which would get the messages of the old one. The DEALER is closed long before this is
/// over. (Not -1, which suppresses the event that tells of a refused connection.)
constexpr int reconnect_interval_ms = 3'600'000;

void set_common_options(zmq::socket_t& socket) {
  socket.set(zmq::sockopt::ipv6, true);
  socket.set(zmq::sockopt::linger, 0);
  socket.set(zmq::sockopt::maxmsgsize, static_cast<std::int64_t>(messages::max_part_size));
  socket.set(zmq::sockopt::heartbeat_ivl, heartbeat_interval_ms);
  socket.set(zmq::sockopt::heartbeat_timeout, heartbeat_timeout_ms);
  socket.set(zmq::sockopt::heartbeat_ttl, heartbeat_ttl_ms);
}

}  // namespace

void set_context_options(zmq::context_t& context) {
  context.set(zmq::ctxopt::max_sockets, context.get(zmq::ctxopt::socket_limit));
}

void set_inbound_options(zmq::socket_t& socket, const std::string& identity) {
  set_common_options(socket);
  socket.set(zmq::sockopt::routing_id, identity);
  // A reply to a client that is gone is an error, not silence.
  socket.set(zmq::sockopt::router_mandatory, true);
  // A client that reconnects before we notice that it was gone is heard.
  socket.set(zmq::sockopt::router_handover, true);
  socket.set(zmq::sockopt::sndhwm, inbound_high_water_mark);
  socket.set(zmq::sockopt::rcvhwm, inbound_high_water_mark);
}

void set_outbound_options(zmq::socket_t& socket, const std::string& routing_id,
                          std::size_t queue_length) {
  set_common_options(socket);
  socket.set(zmq::sockopt::routing_id, routing_id);
  socket.set(zmq::sockopt::reconnect_ivl, reconnect_interval_ms);
  // 0 would mean "no limit".
  const std::size_t bounded = std::clamp<std::size_t>(
      queue_length, 1, static_cast<std::size_t>(std::numeric_limits<int>::max()));
  socket.set(zmq::sockopt::sndhwm, static_cast<int>(bounded));
}

}  // namespace danaus::mailbox
