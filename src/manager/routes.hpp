// Routes: picks the two devices of a queue pair: those that were named, and for "" what goes best
// with the other. `mailbox` thread.
#pragma once

#include <expected>
#include <optional>
#include <string>

#include <asio/awaitable.hpp>

#include "manager/connections.hpp"
#include "manager/peer_directory.hpp"

namespace danaus::manager {

/// Longest device name that is taken from outside; the kernel's own limit is 64
/// (IB_DEVICE_NAME_MAX).
inline constexpr std::size_t max_device_name_length = 64;

/// Which queue pair is wanted, and to which life of the peer.
struct Route {
  messages::ActorRef other;
  std::optional<messages::Incarnation> incarnation;
  QueuePairKey key;
  std::string transport;
};

class Routes {
 public:
  Routes(Connections& connections, PeerDirectory& directory)
      : connections_{connections}, directory_{directory} {}

  /// Errors: InvalidArgument, UnknownDevice, DeviceUnusable, TransportMismatch, Unreachable (a
  /// passive peer that must be asked), StalePeer, and as a request.
  asio::awaitable<std::expected<Route, Error>> choose(
      messages::ActorRef other, std::optional<messages::Incarnation> incarnation,
      std::string self_device, std::string other_device, Clock::time_point deadline);

 private:
  [[nodiscard]] std::expected<messages::DeviceInfo, Error> local_partner(
      const messages::DeviceInfo& own, const std::string& other_device) const;
  [[nodiscard]] bool one_transport() const;

  Connections& connections_;
  PeerDirectory& directory_;
};

/// Errors of requests that name their queue pair: a bad reference, a missing device of the peer's.
[[nodiscard]] std::expected<void, Error> check_peer(const messages::ActorRef& other,
                                                    const std::string& other_device);

}  // namespace danaus::manager
