// Passive: the passive side of connecting: ConnectPeer, PeerReady and AbandonPeer of a peer, also
// when they cross an attempt of our own. `mailbox` thread.
#pragma once

#include <expected>

#include <asio/awaitable.hpp>

#include "manager/connections.hpp"
#include "manager/connector.hpp"
#include "messages/envelope.hpp"
#include "messages/service_message.hpp"

namespace danaus::manager {

class Passive {
 public:
  Passive(Connections& connections, Connector& connector)
      : connections_{connections}, connector_{connector} {}

  /// Brings the pair's queue pair to RTS with the peer's endpoint and answers with its own. Errors:
  /// InvalidArgument, UnknownDevice, DeviceUnusable, TransportMismatch, Superseded, and the
  /// device's.
  asio::awaitable<std::expected<messages::ConnectPeerResult, Error>> connect(
      messages::Sender from, messages::ConnectPeer message);

  /// The peer's end is in RTS: ours may be used. Errors: NotFound.
  asio::awaitable<std::expected<messages::Unit, Error>> ready(messages::Sender from,
                                                              messages::PeerReady message);

  /// The peer has thrown its end away: so does this side. Errors: NotFound.
  asio::awaitable<std::expected<messages::Unit, Error>> abandon(messages::Sender from,
                                                                messages::AbandonPeer message);

 private:
  /// The queue pair that answers an attempt, connected; a new one where `replace`.
  asio::awaitable<std::expected<std::shared_ptr<transport::OperationQueue>, Error>> connected_end(
      QueuePairKey key, std::shared_ptr<QueuePairEntry> entry, bool replace,
      messages::QpInfo endpoint);

  [[nodiscard]] std::expected<QueuePairKey, Error> key_of(const messages::Sender& from,
                                                          const std::string& self_device,
                                                          const std::string& other_device) const;

  Connections& connections_;
  Connector& connector_;
};

}  // namespace danaus::manager
