// Outbound: requests and casts of our own, and the connections they travel on: one for each peer
// (identity and endpoint), made at first use, bounded in number.
// `mailbox` thread.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include <asio/awaitable.hpp>
#include <asio/io_context.hpp>
#include <zmq.hpp>

#include "mailbox/counters.hpp"
#include "mailbox/mailbox.hpp"
#include "mailbox/peer_connection.hpp"
#include "mailbox/self.hpp"

namespace danaus::mailbox {

class Outbound {
 public:
  Outbound(asio::io_context& context, zmq::context_t& zmq_context, const Self& self,
           const Limits& limits, Counters& counters);
  Outbound(const Outbound&) = delete;
  Outbound& operator=(const Outbound&) = delete;

  /// As Mailbox::request and Mailbox::cast.
  asio::awaitable<PeerReply> request(messages::ActorRef to,
                                     std::optional<messages::Incarnation> incarnation,
                                     messages::Message message, Clock::time_point deadline);
  void cast(const messages::ActorRef& to, const std::optional<messages::Incarnation>& incarnation,
            const messages::Message& message);

  /// Ends our own requests, those to come included, with ShuttingDown. Casts still go out.
  void stop_requests();

  /// Closes every connection; casts not yet on the wire linger.
  void close(int linger_ms);

 private:
  // Shared with the coroutines that wait for its replies: they may outlast its place in the table.
  using Connections =
      std::map<std::pair<std::string, std::string>, std::shared_ptr<PeerConnection>>;

  /// The open connection to `to`. Errors: InvalidArgument, Unreachable (passive peer),
  /// ResourceExhausted, ShuttingDown.
  std::expected<std::shared_ptr<PeerConnection>, Error> connection_to(const messages::ActorRef& to);
  std::expected<std::shared_ptr<PeerConnection>, Error> connect(const messages::ActorRef& to);
  bool make_room();
  void forget_closed();
  [[nodiscard]] Error shutting_down() const;

  asio::io_context& context_;
  zmq::context_t& zmq_context_;
  const Self& self_;
  const Limits& limits_;
  Counters& counters_;
  Connections connections_;
  /// Drawn at random to start with, so that two lives of ours do not share ids.
  std::uint64_t next_id_;
  bool requests_stopped_ = false;
  bool closed_ = false;
};

}  // namespace danaus::mailbox
