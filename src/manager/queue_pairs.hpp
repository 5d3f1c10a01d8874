// QueuePairs: what RequestQueuePair means: choose the devices, connect where there is no
// connection, hand out a shared handle. `mailbox` thread.
#pragma once

#include <expected>
#include <optional>
#include <string>

#include <asio/awaitable.hpp>

#include "manager/connector.hpp"
#include "manager/manager.hpp"
#include "manager/routes.hpp"

namespace danaus::manager {

class QueuePairs {
 public:
  QueuePairs(Connections& connections, PeerDirectory& directory, Connector& connector)
      : connections_{connections},
        directory_{directory},
        connector_{connector},
        routes_{connections, directory} {}

  /// As Manager::queue_pair.
  asio::awaitable<std::expected<QueuePairHandle, Error>> request(
      messages::ActorRef other, std::optional<messages::Incarnation> incarnation,
      std::string self_device, std::string other_device, Clock::time_point deadline);

 private:
  Connections& connections_;
  PeerDirectory& directory_;
  Connector& connector_;
  Routes routes_;
};

}  // namespace danaus::manager
