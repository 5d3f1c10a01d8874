// The one place where the mailbox's sockets get their options, before bind or connect. Whatever
// authenticates peers (CURVE keys, a ZAP domain) belongs here too, and nowhere else.
// `mailbox` thread.
#pragma once

#include <cstddef>
#include <string>

#include <zmq.hpp>

namespace danaus::mailbox {

/// The context's: as many sockets as libzmq can have; a peer takes three (DEALER and both ends of
/// its monitor), so the default of 1023 ends at 341 peers.
void set_context_options(zmq::context_t& context);

/// A ROUTER that is about to bind.
void set_inbound_options(zmq::socket_t& socket, const std::string& identity);

/// A DEALER that is about to connect. At most `queue_length` messages wait in it.
void set_outbound_options(zmq::socket_t& socket, const std::string& routing_id,
                          std::size_t queue_length);

/// How long unsent replies and casts may linger when the mailbox shuts down in order.
inline constexpr int shutdown_linger_ms = 500;

}  // namespace danaus::mailbox
