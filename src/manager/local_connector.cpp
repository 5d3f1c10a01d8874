// The part of Connector for pairs whose two ends are in this manager: one device with itself
// (loopback), or two devices. Nothing is sent.
#include <algorithm>
#include <optional>
#include <utility>

#include "manager/connector.hpp"

namespace danaus::manager {

asio::awaitable<std::expected<void, Error>> Connector::connect_locally(Route route) {
  const QueuePairKey near = route.key;
  const QueuePairKey far = near.mirrored(connections_.link.self().id);
  const bool is_loopback = near == far;
  // Always the smaller key first: two who take both tickets cannot wait for each other.
  const auto first = co_await connections_.order.enter(std::min(near, far));
  std::optional<KeySequencer<QueuePairKey>::Ticket> second;
  if (!is_loopback) {
    auto ticket = co_await connections_.order.enter(std::max(near, far));
    second.emplace(std::move(ticket));
  }

  std::expected<void, Error> outcome;
  auto near_end = co_await fresh_end(near);
  auto far_end = near_end;
  if (near_end && !is_loopback) {
    far_end = co_await fresh_end(far);
  }
  if (!near_end || !far_end) {
    outcome = std::unexpected{near_end ? far_end.error() : near_end.error()};
  } else {
    const auto near_endpoint = (*near_end)->queue_pair().endpoint();
    const auto far_endpoint = (*far_end)->queue_pair().endpoint();
    if (!near_endpoint || !far_endpoint) {
      outcome = std::unexpected{near_endpoint ? far_endpoint.error() : near_endpoint.error()};
    } else {
      outcome = co_await connections_.connect(*near_end, *far_endpoint);
      if (outcome && !is_loopback) {
        outcome = co_await connections_.connect(*far_end, *near_endpoint);
      }
    }
  }
  for (const QueuePairKey& key : {near, far}) {
    const std::shared_ptr<QueuePairEntry> entry = connections_.table.find(key);
    if (!outcome) {
      connections_.table.remove(key, outcome.error());
    } else if (entry) {
      entry->transport = route.transport;
      entry->peer_at = connections_.link.self().at;
      entry->incarnation = connections_.link.incarnation();
      entry->handshake.attempt_succeeded();
      entry->changed.notify();
    }
  }
  co_return outcome;
}

/// A queue pair that is connected to nothing yet: the one that InitializeQP made, or a new one.
asio::awaitable<std::expected<std::shared_ptr<transport::OperationQueue>, Error>>
Connector::fresh_end(QueuePairKey key) {
  using Result = std::expected<std::shared_ptr<transport::OperationQueue>, Error>;
  std::shared_ptr<QueuePairEntry> entry = connections_.table.find(key);
  if (entry && entry->state() <= transport::QueuePairState::init) {
    entry->handshake.attempt_started();
    co_return Result{entry->operations};
  }
  auto created = co_await connections_.create(key);
  if (!created) {
    co_return created;
  }
  if (entry) {
    ++connections_.counters.queue_pairs_replaced;
    connections_.table.replace(*entry, *created, replaced_error(key, "its other end was in ERR"));
    entry->handshake.attempt_started();
  } else {
    entry = std::make_shared<QueuePairEntry>(connections_.link.context(), Phase::connecting);
    entry->operations = *created;
    connections_.table.insert(key, entry);
  }
  co_return Result{entry->operations};
}

}  // namespace danaus::manager
