// PeerConnection: one DEALER to one peer, for as long as its one connection lasts. It never
// reconnects: what was queued for one life of a peer must not reach the next.
// `mailbox` thread. Relies on ZmqSocket, ConnectionMonitor, PendingRequests.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>

#include <asio/io_context.hpp>
#include <zmq.hpp>

#include "mailbox/connection_monitor.hpp"
#include "mailbox/counters.hpp"
#include "mailbox/pending_requests.hpp"
#include "mailbox/self.hpp"
#include "mailbox/zmq_socket.hpp"
#include "messages/envelope.hpp"

namespace danaus::mailbox {

class PeerConnection {
 public:
  /// Starts connecting. Throws zmq::error_t. `on_closed` is called when the connection is over; it
  /// must not destroy this object.
  PeerConnection(asio::io_context& context, zmq::context_t& zmq_context, const Self& self,
                 messages::ActorRef peer, std::size_t queue_length, Counters& counters,
                 std::function<void()> on_closed);
  PeerConnection(const PeerConnection&) = delete;
  PeerConnection& operator=(const PeerConnection&) = delete;

  [[nodiscard]] const messages::ActorRef& peer() const noexcept { return peer_; }
  [[nodiscard]] bool is_open() const noexcept { return socket_.is_open(); }
  [[nodiscard]] bool is_established() const noexcept { return established_; }
  [[nodiscard]] const std::shared_ptr<PendingRequests>& pending() const noexcept {
    return pending_;
  }

  /// Queues a message. Errors: Busy, when the peer's queue is full.
  std::expected<void, Error> send(const messages::Header& header, std::span<const std::byte> body);

  /// Ends what is pending with `error` and closes; unsent messages linger that long.
  void close(const Error& error, int linger_ms);

 private:
  void take_replies(std::size_t max);
  void take_reply(const Received& received);
  void on_event(ConnectionEvent event);
  [[nodiscard]] Error describe(ConnectionEvent event) const;
  [[nodiscard]] Error connected_to_ourselves() const;

  const Self& self_;
  messages::ActorRef peer_;
  Counters& counters_;
  std::function<void()> on_closed_;
  std::size_t queue_length_;
  ZmqSocket socket_;
  ConnectionMonitor monitor_;
  std::shared_ptr<PendingRequests> pending_ = std::make_shared<PendingRequests>();
  bool established_ = false;
  /// Casts that are lost if the connection does not come about.
  std::uint64_t casts_before_established_ = 0;
};

}  // namespace danaus::mailbox
