#include "manager/stepwise.hpp"

#include <spdlog/fmt/fmt.h>

#include <utility>

#include "manager/routes.hpp"

namespace danaus::manager {
namespace {

Error no_queue_pair(const QueuePairKey& key, std::string_view remedy) {
  return {ErrorCode::not_found,
          fmt::format("there is no queue pair from {} to {}; {}", key.self_device,
                      describe_peer(key), remedy),
          {{"peer", key.peer}, {"device", key.self_device}}};
}

constexpr std::string_view initialize_first = "send InitializeQP first";

}  // namespace

asio::awaitable<std::expected<bool, Error>> Stepwise::initialize(messages::InitializeQP message) {
  using Result = std::expected<bool, Error>;
  const auto key = key_of(message.other, message.self_device, message.other_device);
  if (!key) {
    co_return std::unexpected{key.error()};
  }
  const auto device = connections_.devices.find(key->self_device);
  if (!device) {
    co_return std::unexpected{device.error()};
  }
  const auto ticket = co_await connections_.order.enter(*key);
  const std::shared_ptr<QueuePairEntry> existing = connections_.table.find(*key);
  if (existing && existing->state() != transport::QueuePairState::error) {
    co_return Result{true};
  }
  auto created = co_await connections_.create(*key);
  if (!created) {
    co_return std::unexpected{std::move(created).error()};
  }
  if (existing) {
    ++connections_.counters.queue_pairs_replaced;
    connections_.table.remove(*key, replaced_error(*key, "it was in ERR"));
  }
  const auto entry = std::make_shared<QueuePairEntry>(connections_.link.context(), Phase::stepwise);
  entry->operations = *std::move(created);
  entry->transport = device->transport;
  entry->peer_at = message.other.at;
  connections_.table.insert(*key, entry);
  co_return Result{true};
}

asio::awaitable<std::expected<messages::QpInfo, Error>> Stepwise::endpoint(
    messages::ConnectionInfo message) {
  const auto key = key_of(message.other, message.self_device, message.other_device);
  if (!key) {
    co_return std::unexpected{key.error()};
  }
  const auto ticket = co_await connections_.order.enter(*key);
  const std::shared_ptr<QueuePairEntry> entry = connections_.table.find(*key);
  if (!entry) {
    co_return std::unexpected{no_queue_pair(*key, initialize_first)};
  }
  co_return entry->operations->queue_pair().endpoint();
}

asio::awaitable<std::expected<messages::Unit, Error>> Stepwise::connect(messages::Connect message) {
  using Result = std::expected<messages::Unit, Error>;
  const auto key = key_of(message.other, message.self_device, message.other_device);
  if (!key) {
    co_return std::unexpected{key.error()};
  }
  const auto ticket = co_await connections_.order.enter(*key);
  const std::shared_ptr<QueuePairEntry> entry = connections_.table.find(*key);
  if (!entry) {
    co_return std::unexpected{no_queue_pair(*key, initialize_first)};
  }
  const auto connected = co_await connections_.connect(entry->operations, message.endpoint);
  if (!connected) {
    co_return std::unexpected{connected.error()};
  }
  entry->changed.notify();
  connector_.wake(*key);
  co_return Result{};
}

asio::awaitable<std::expected<std::uint32_t, Error>> Stepwise::state(messages::GetQpState message) {
  const auto key = key_of(message.other, message.self_device, message.other_device);
  if (!key) {
    co_return std::unexpected{key.error()};
  }
  const auto ticket = co_await connections_.order.enter(*key);
  const std::shared_ptr<QueuePairEntry> entry = connections_.table.find(*key);
  if (!entry) {
    co_return std::unexpected{
        no_queue_pair(*key, "send InitializeQP or RequestQueuePair to make one")};
  }
  co_return static_cast<std::uint32_t>(entry->state());
}

asio::awaitable<std::expected<messages::Unit, Error>> Stepwise::close(std::string sender,
                                                                      messages::ActorRef other,
                                                                      std::string self_device,
                                                                      std::string other_device,
                                                                      Clock::time_point deadline) {
  using Result = std::expected<messages::Unit, Error>;
  if (other_device.empty()) {
    const auto own = connections_.devices.find(self_device);
    const auto only = own ? connections_.table.find_any(own->name, other.id) : std::nullopt;
    other_device = only ? only->peer_device : std::string{};
  }
  const auto key = key_of(other, self_device, other_device);
  if (!key) {
    co_return std::unexpected{key.error()};
  }
  const Error reason{ErrorCode::queue_pair_reset,
                     fmt::format("the queue pair from {} to {} was closed by {}; request it again "
                                 "if it is still needed",
                                 key->self_device, describe_peer(*key), sender),
                     {{"peer", key->peer}, {"device", key->self_device}}};
  const bool closed = co_await close_own_end(*key, reason);
  const Error nothing = no_queue_pair(*key, "there is nothing to close");
  if (connections_.is_self(other)) {
    const QueuePairKey far = key->mirrored(other.id);
    const bool far_closed = co_await close_own_end(far, reason);
    if (closed || far_closed) {
      co_return Result{};
    }
    co_return std::unexpected{nothing};
  }
  if (sender == other.id || other.at.empty()) {
    if (closed) {
      co_return Result{};
    }
    co_return std::unexpected{nothing};
  }

  const messages::ClosePeer close_peer{.other = connections_.link.self(),
                                       .self_device = key->peer_device,
                                       .other_device = key->self_device};
  const auto answer = co_await ask(connections_.link, other, std::nullopt, close_peer, deadline);
  if (answer.reply) {
    co_return Result{};
  }
  switch (answer.reply.error().code()) {
    case ErrorCode::not_found:
    case ErrorCode::unknown_device:
    case ErrorCode::unreachable:
    case ErrorCode::peer_lost:
      // Nothing is there, or nobody: closed is closed.
      if (closed) {
        co_return Result{};
      }
      break;
    default:
      break;
  }
  co_return std::unexpected{
      Error{answer.reply.error().code(),
            fmt::format("{}; the end at {} {}", answer.reply.error().message(),
                        connections_.link.self().id,
                        closed ? "was closed all the same" : "did not exist either"),
            answer.reply.error().details()}};
}

asio::awaitable<bool> Stepwise::close_own_end(QueuePairKey key, Error reason) {
  const auto ticket = co_await connections_.order.enter(key);
  connector_.close(key, reason);
  const bool existed = connections_.table.remove(key, reason);
  if (existed) {
    ++connections_.counters.queue_pairs_closed;
  }
  co_return existed;
}

std::expected<QueuePairKey, Error> Stepwise::key_of(const messages::ActorRef& other,
                                                    const std::string& self_device,
                                                    const std::string& other_device) const {
  if (auto checked = check_peer(other, other_device); !checked) {
    return std::unexpected{std::move(checked).error()};
  }
  // A device that has become unusable since still has its queue pairs.
  auto device = connections_.devices.find(self_device);
  if (!device && (self_device.empty() || device.error().code() != ErrorCode::device_unusable)) {
    return std::unexpected{std::move(device).error()};
  }
  return QueuePairKey{device ? device->name : self_device, other.id, other_device};
}

}  // namespace danaus::manager
