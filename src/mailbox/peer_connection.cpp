#include "mailbox/peer_connection.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>

#include <utility>

#include "mailbox/socket_options.hpp"
#include "messages/bytes.hpp"

namespace danaus::mailbox {
namespace {

/// Replies taken in one turn of the loop, so that one talkative peer does not hold up the others.
constexpr std::size_t max_replies_per_turn = 64;

/// `identity/<16 random hex>`: unique, so that two connections of one identity are both heard, and
/// beyond guessing, so that nobody takes over the routing id and with it the replies.
std::string make_routing_id(const std::string& identity) {
  return identity + '/' + messages::to_hex(messages::random_bytes<8>());
}

}  // namespace

PeerConnection::PeerConnection(asio::io_context& context, zmq::context_t& zmq_context,
                               const Self& self, messages::ActorRef peer, std::size_t queue_length,
                               Counters& counters, std::function<void()> on_closed)
    : self_{self},
      peer_{std::move(peer)},
      counters_{counters},
      on_closed_{std::move(on_closed)},
      queue_length_{queue_length},
      socket_{context, zmq_context, zmq::socket_type::dealer},
      monitor_{context, zmq_context, socket_.raw()} {
  set_outbound_options(socket_.raw(), make_routing_id(self.ref.id), queue_length);
  socket_.raw().connect(peer_.at);
  socket_.watch([this] { take_replies(max_replies_per_turn); });
  monitor_.watch([this](ConnectionEvent event) { on_event(event); });
  counters_.add(Counter::connections_opened);
}

std::expected<void, Error> PeerConnection::send(const messages::Header& header,
                                                std::span<const std::byte> body) {
  const messages::Bytes encoded = messages::encode_header(header);
  if (socket_.send({encoded, body}) != SendOutcome::sent) {
    return std::unexpected{
        Error{ErrorCode::busy,
              fmt::format(
                  "cannot send to {}: {} messages already wait to be sent; it {}, try again later",
                  messages::to_string(peer_), queue_length_,
                  established_ ? "does not read" : "has not accepted the connection yet")}};
  }
  if (header.kind == messages::Kind::cast && !established_) {
    ++casts_before_established_;
  }
  return {};
}

void PeerConnection::close(const Error& error, int linger_ms) {
  if (!is_open()) {
    return;
  }
  monitor_.close();
  socket_.close(linger_ms);
  pending_->fail_all(error);
  on_closed_();
}

void PeerConnection::take_replies(std::size_t max) {
  // One part more than a reply has, to see that there is one too many.
  constexpr std::size_t parts_of_a_reply = 2;
  for (std::size_t i = 0; i < max && is_open(); ++i) {
    const std::optional<Received> received = socket_.receive(parts_of_a_reply);
    if (!received) {
      return;
    }
    if (received->has_excess_parts || received->parts.size() != parts_of_a_reply) {
      counters_.add(Counter::replies_malformed);
      continue;
    }
    take_reply(*received);
  }
}

void PeerConnection::take_reply(const Received& received) {
  const auto header = messages::decode_header(bytes_of(received.parts[0]));
  if (!header || header->version != messages::protocol_version) {
    counters_.add(Counter::replies_malformed);
    return;
  }
  if (header->kind != messages::Kind::reply && header->from.id == self_.ref.id &&
      header->from.incarnation == self_.incarnation) {
    counters_.add(Counter::connections_refused);
    close(connected_to_ourselves(), 0);
    return;
  }
  PendingRequest* const pending =
      header->kind == messages::Kind::reply ? pending_->find(header->id) : nullptr;
  const bool is_for_us = header->to.id == self_.ref.id &&
                         header->to.incarnation.value_or(self_.incarnation) == self_.incarnation;
  if (pending == nullptr || !is_for_us) {
    counters_.add(Counter::replies_unmatched);
    return;
  }

  auto body = messages::decode_reply(bytes_of(received.parts[1]));
  if (header->from.id != peer_.id) {
    // Another manager lives at this endpoint. It may tell us so, and nothing else.
    if (body && !*body && body->error().code() == ErrorCode::wrong_addressee) {
      counters_.add(Counter::replies_received);
      pending->complete({.body = *std::move(body), .incarnation = std::nullopt});
    } else {
      counters_.add(Counter::replies_unmatched);
    }
    return;
  }
  PeerReply reply{.body = messages::Bytes{}, .incarnation = header->from.incarnation};
  if (!body) {
    counters_.add(Counter::replies_malformed);
    reply.body = std::unexpected{Error{
        ErrorCode::malformed, fmt::format("{} sent a reply that cannot be read: {}",
                                          messages::to_string(peer_), body.error().message())}};
  } else if (*body && pending->incarnation() && reply.incarnation != pending->incarnation()) {
    // A peer that does not check `to.incarnation` itself.
    reply.body = std::unexpected{Error{
        ErrorCode::stale_peer, fmt::format("{} has restarted since: another life of it answered",
                                           messages::to_string(peer_))}};
  } else {
    reply.body = *std::move(body);
  }
  counters_.add(Counter::replies_received);
  pending->complete(std::move(reply));
}

void PeerConnection::on_event(ConnectionEvent event) {
  if (event == ConnectionEvent::established) {
    established_ = true;
    casts_before_established_ = 0;
    return;
  }
  // What the peer sent before it went is already here: libzmq hands messages over before the event.
  take_replies(queue_length_);

  const Error error = describe(event);
  Counter counter = Counter::handshakes_failed;
  if (event == ConnectionEvent::connect_failed) {
    counter = Counter::connections_refused;
  } else if (event == ConnectionEvent::disconnected) {
    counter = Counter::connections_lost;
  }
  if (is_worth_a_line(counters_.add(counter))) {
    spdlog::info("{} ({} requests were waiting; counted as {})", error.message(), pending_->size(),
                 to_string(counter));
  }
  if (casts_before_established_ > 0) {
    counters_.add(Counter::casts_dropped, casts_before_established_);
  }
  close(error, 0);
}

/// The kernel may give a connection the very port that it dials as its own, where nobody listens on
/// that port. To keep it would also keep the peer from its port.
Error PeerConnection::connected_to_ourselves() const {
  return {ErrorCode::unreachable,
          fmt::format("cannot reach {}: nobody listens there, and the connection led back to "
                      "ourselves; check that it runs and that the address is right",
                      messages::to_string(peer_)),
          {{"peer", peer_.id}, {"endpoint", peer_.at}}};
}

Error PeerConnection::describe(ConnectionEvent event) const {
  const std::string peer = messages::to_string(peer_);
  switch (event) {
    case ConnectionEvent::connect_failed:
      return {ErrorCode::unreachable,
              fmt::format("cannot reach {}: the connection was refused, there is no route, or the "
                          "host name is unknown; check that it runs and that the address is right",
                          peer),
              {{"peer", peer_.id}, {"endpoint", peer_.at}}};
    case ConnectionEvent::authentication_failed:
      return {ErrorCode::auth_failed,
              fmt::format("{} refused the handshake, or could not prove who it is; check the keys "
                          "on both sides",
                          peer),
              {{"peer", peer_.id}, {"endpoint", peer_.at}}};
    case ConnectionEvent::handshake_failed:
      return {
          ErrorCode::unreachable,
          fmt::format("cannot reach {}: what listens there hung up during the handshake or does "
                      "not speak ZMTP; check the address",
                      peer),
          {{"peer", peer_.id}, {"endpoint", peer_.at}}};
    case ConnectionEvent::established:
    case ConnectionEvent::disconnected:
      break;
  }
  return {ErrorCode::peer_lost,
          fmt::format("the connection to {} ended: it stopped, crashed or became unreachable; what "
                      "was asked of it may or may not have been done",
                      peer),
          {{"peer", peer_.id}, {"endpoint", peer_.at}}};
}

}  // namespace danaus::mailbox
