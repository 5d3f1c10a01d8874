// Stepwise: the handshake by single messages, driven from outside: InitializeQP, ConnectionInfo,
// Connect, GetQpState; and ClosePeer, which undoes it. `mailbox` thread.
#pragma once

#include <cstdint>
#include <expected>
#include <string>

#include <asio/awaitable.hpp>

#include "manager/connections.hpp"
#include "manager/connector.hpp"
#include "messages/manager_message.hpp"

namespace danaus::manager {

class Stepwise {
 public:
  Stepwise(Connections& connections, Connector& connector)
      : connections_{connections}, connector_{connector} {}

  /// Creates the queue pair, in RESET, where there is none or one in ERR. True in any case.
  asio::awaitable<std::expected<bool, Error>> initialize(messages::InitializeQP message);

  /// The endpoint of the own queue pair. Errors: NotFound before InitializeQP.
  asio::awaitable<std::expected<messages::QpInfo, Error>> endpoint(
      messages::ConnectionInfo message);

  /// Brings the own queue pair to RTS; with the endpoint that it has already, nothing to do.
  /// Errors: NotFound before InitializeQP, ConnectConflict, InvalidQueuePairState,
  /// TransportMismatch.
  asio::awaitable<std::expected<messages::Unit, Error>> connect(messages::Connect message);

  /// Queried from the device now. Errors: NotFound.
  asio::awaitable<std::expected<std::uint32_t, Error>> state(messages::GetQpState message);

  /// Destroys the own end of the pair, and asks `other` to destroy its end unless `sender` is that.
  /// Errors: NotFound, and what kept the peer from answering.
  asio::awaitable<std::expected<messages::Unit, Error>> close(std::string sender,
                                                              messages::ActorRef other,
                                                              std::string self_device,
                                                              std::string other_device,
                                                              Clock::time_point deadline);

 private:
  [[nodiscard]] std::expected<QueuePairKey, Error> key_of(const messages::ActorRef& other,
                                                          const std::string& self_device,
                                                          const std::string& other_device) const;
  asio::awaitable<bool> close_own_end(QueuePairKey key, Error reason);

  Connections& connections_;
  Connector& connector_;
};

}  // namespace danaus::manager
