// What the concerns of connecting share: the tables that they change, in which order, and how a
// queue pair is made and connected on `device-work`. `mailbox` thread.
#pragma once

#include <expected>
#include <memory>
#include <string>

#include <asio/awaitable.hpp>

#include "manager/counters.hpp"
#include "manager/device_table.hpp"
#include "manager/device_work.hpp"
#include "manager/key_sequencer.hpp"
#include "manager/peer_link.hpp"
#include "manager/queue_pair_key.hpp"
#include "manager/queue_pair_table.hpp"
#include "messages/values.hpp"
#include "transport/operation_queue.hpp"

namespace danaus::manager {

/// Most queue pairs at once, so that no stranger's ConnectPeers can grow the table without bound.
inline constexpr std::size_t max_queue_pairs = 16'384;

struct Connections {
  Connections(PeerLink& peer_link, DeviceTable& device_table, DeviceWork& device_work,
              Counters& all_counters)
      : link{peer_link},
        devices{device_table},
        work{device_work},
        counters{all_counters},
        table{device_work},
        order{peer_link.context()} {}

  PeerLink& link;
  DeviceTable& devices;
  DeviceWork& work;
  Counters& counters;
  QueuePairTable table;
  /// Whoever changes an entry, or reads it in the order of arrival, holds the key's ticket.
  KeySequencer<QueuePairKey> order;

  /// A new queue pair for `key` in RESET; opens the device at its first use.
  asio::awaitable<std::expected<std::shared_ptr<transport::OperationQueue>, Error>> create(
      QueuePairKey key);

  /// RESET → INIT; in any other state nothing to do.
  asio::awaitable<std::expected<void, Error>> initialize(
      std::shared_ptr<transport::OperationQueue> operations);

  /// As QueuePair::connect.
  asio::awaitable<std::expected<void, Error>> connect(
      std::shared_ptr<transport::OperationQueue> operations, messages::QpInfo endpoint);

  /// Takes the pairs out that dead peers left behind. Where queue pairs are made, after the work
  /// and with no ticket held: before it, messages that came later could go first.
  asio::awaitable<void> sweep();

  [[nodiscard]] bool is_self(const messages::ActorRef& other) const {
    return other.id == link.self().id;
  }
};

/// "b (soft0)": the other end of a queue pair in messages for people.
[[nodiscard]] std::string describe_peer(const QueuePairKey& key);

/// What ends the work on a queue pair that another takes the place of, and why.
[[nodiscard]] Error replaced_error(const QueuePairKey& key, std::string_view why);

}  // namespace danaus::manager
