#include "manager/passive.hpp"

#include <spdlog/fmt/fmt.h>

#include <utility>

namespace danaus::manager {
namespace {

Error superseded(const QueuePairKey& key, std::uint64_t attempt, std::uint64_t newest) {
  return {
      ErrorCode::superseded,
      fmt::format("attempt {} to connect {} to {} comes after attempt {} of the same sender; send "
                  "a higher one",
                  attempt, describe_peer(key), key.self_device, newest),
      {{"attempt", std::to_string(newest)}}};
}

Error no_such_attempt(const QueuePairKey& key, std::uint64_t attempt) {
  return {
      ErrorCode::not_found,
      fmt::format("no queue pair from {} to {} was connected by attempt {}; nothing was changed",
                  key.self_device, describe_peer(key), attempt),
      {{"peer", key.peer}, {"device", key.self_device}}};
}

}  // namespace

asio::awaitable<std::expected<messages::ConnectPeerResult, Error>> Passive::connect(
    messages::Sender from, messages::ConnectPeer message) {
  if (auto checked = check_peer({from.id, {}}, message.other_device); !checked) {
    co_return std::unexpected{std::move(checked).error()};
  }
  if (connections_.is_self({from.id, {}})) {
    co_return std::unexpected{
        Error{ErrorCode::invalid_argument,
              fmt::format("{} does not connect to itself by ConnectPeer; send it RequestQueuePair "
                          "with itself as the other end",
                          from.id)}};
  }
  const auto device = connections_.devices.find(message.self_device);
  if (!device) {
    co_return std::unexpected{device.error()};
  }
  const QueuePairKey key{device->name, from.id, message.other_device};
  if (message.transport != device->transport) {
    co_return std::unexpected{
        Error{ErrorCode::transport_mismatch,
              fmt::format("{} is a {} device and cannot be connected to {}, a {} device; name two "
                          "devices of one transport",
                          device->name, device->transport, describe_peer(key), message.transport),
              {{"device", device->name}, {"peer", from.id}}}};
  }

  const PeerAttempt attempt{message.attempt, from.incarnation};
  const auto ticket = co_await connections_.order.enter(key);
  std::shared_ptr<QueuePairEntry> entry = connections_.table.find(key);
  auto answer = Handshake::Answer::connect;
  if (entry) {
    answer = entry->handshake.judge(attempt, entry->wiring(message.endpoint));
  }
  if (answer == Handshake::Answer::superseded) {
    ++connections_.counters.connects_superseded;
    co_return std::unexpected{
        superseded(key, attempt.number, entry->handshake.peer_attempt()->number)};
  }

  const bool replace = answer == Handshake::Answer::replace;
  std::shared_ptr<transport::OperationQueue> operations;
  if (answer == Handshake::Answer::repeat) {
    operations = entry->operations;
  } else {
    auto end = co_await connected_end(key, entry, replace, message.endpoint);
    if (!end) {
      co_return std::unexpected{std::move(end).error()};
    }
    operations = *std::move(end);
  }
  auto own = operations->queue_pair().endpoint();
  if (!own) {
    co_return std::unexpected{std::move(own).error()};
  }

  if (!entry) {
    entry = std::make_shared<QueuePairEntry>(connections_.link.context(), Phase::awaiting_ready);
    entry->operations = operations;
    connections_.table.insert(key, entry);
  } else if (replace) {
    ++connections_.counters.queue_pairs_replaced;
    connections_.table.replace(*entry, operations, replaced_error(key, "the peer connected anew"));
    if (entry->incarnation != attempt.incarnation) {
      entry->incarnation.reset();
    }
  }
  entry->transport = device->transport;
  entry->handshake.connected_by_peer(attempt, replace);
  ++connections_.counters.connects_answered;
  entry->changed.notify();
  connector_.wake(key);
  co_return messages::ConnectPeerResult{
      .endpoint = *std::move(own),
      .state = static_cast<std::uint32_t>(operations->queue_pair().state()),
      .incarnation = connections_.link.incarnation()};
}

asio::awaitable<std::expected<std::shared_ptr<transport::OperationQueue>, Error>>
Passive::connected_end(QueuePairKey key, std::shared_ptr<QueuePairEntry> entry, bool replace,
                       messages::QpInfo endpoint) {
  using Result = std::expected<std::shared_ptr<transport::OperationQueue>, Error>;
  Result end;
  if (entry && !replace) {
    end = entry->operations;
  } else {
    // The old one stays until the new one is connected: a bad endpoint costs nobody a queue pair.
    end = co_await connections_.create(key);
    if (!end) {
      co_return end;
    }
  }
  const auto connected = co_await connections_.connect(*end, std::move(endpoint));
  if (!connected) {
    if (!entry || replace) {
      connections_.work.destroy(*std::move(end));
    }
    co_return std::unexpected{connected.error()};
  }
  co_return end;
}

asio::awaitable<std::expected<messages::Unit, Error>> Passive::ready(messages::Sender from,
                                                                     messages::PeerReady message) {
  using Result = std::expected<messages::Unit, Error>;
  const auto key = key_of(from, message.self_device, message.other_device);
  if (!key) {
    co_return std::unexpected{key.error()};
  }
  const auto ticket = co_await connections_.order.enter(*key);
  const std::shared_ptr<QueuePairEntry> entry = connections_.table.find(*key);
  if (!entry || !entry->handshake.peer_is_ready({message.attempt, from.incarnation})) {
    co_return std::unexpected{no_such_attempt(*key, message.attempt)};
  }
  entry->changed.notify();
  connector_.wake(*key);
  co_return Result{};
}

asio::awaitable<std::expected<messages::Unit, Error>> Passive::abandon(
    messages::Sender from, messages::AbandonPeer message) {
  using Result = std::expected<messages::Unit, Error>;
  const auto key = key_of(from, message.self_device, message.other_device);
  if (!key) {
    co_return std::unexpected{key.error()};
  }
  const auto ticket = co_await connections_.order.enter(*key);
  const std::shared_ptr<QueuePairEntry> entry = connections_.table.find(*key);
  if (!entry || !entry->handshake.abandoned_by({message.attempt, from.incarnation})) {
    co_return std::unexpected{no_such_attempt(*key, message.attempt)};
  }
  const Error reason = replaced_error(*key, "the peer has given its attempt up");
  if (entry->handshake.phase() == Phase::connecting) {
    // Our own attempt finds its queue pair in ERR and offers another.
    entry->operations->abort(reason);
  } else {
    connections_.table.remove(*key, reason);
  }
  connector_.wake(*key);
  co_return Result{};
}

std::expected<QueuePairKey, Error> Passive::key_of(const messages::Sender& from,
                                                   const std::string& self_device,
                                                   const std::string& other_device) const {
  const auto device = connections_.devices.find(self_device);
  if (!device) {
    return std::unexpected{device.error()};
  }
  return QueuePairKey{device->name, from.id, other_device};
}

}  // namespace danaus::manager
