#include "manager/connections.hpp"

#include <spdlog/fmt/fmt.h>

#include <utility>

namespace danaus::manager {
namespace {

/// A queue pair and the domain that it lives in, which must go after it, whoever lets go last.
struct DomainQueuePair {
  DomainQueuePair(std::shared_ptr<transport::Domain> owner,
                  std::unique_ptr<transport::QueuePair> queue_pair, std::string peer,
                  std::uint32_t slots)
      : domain{std::move(owner)},
        operations{std::move(queue_pair), std::move(peer),
                   std::make_unique<transport::AtomicResults>(*domain, slots)} {}
  std::shared_ptr<transport::Domain> domain;
  transport::OperationQueue operations;
};

}  // namespace

asio::awaitable<std::expected<std::shared_ptr<transport::OperationQueue>, Error>>
Connections::create(QueuePairKey key) {
  using Result = std::expected<std::shared_ptr<transport::OperationQueue>, Error>;
  if (table.entries().size() >= max_queue_pairs) {
    table.look_soon();
    co_return std::unexpected{
        Error{ErrorCode::resource_exhausted,
              fmt::format("{} has {} queue pairs, the most at once; close some by ClosePeer",
                          link.self().id, max_queue_pairs)}};
  }
  auto domain = co_await devices.open(key.self_device);
  if (!domain) {
    co_return std::unexpected{std::move(domain).error()};
  }
  auto create_queue_pair = [domain = *std::move(domain), peer = describe_peer(key)]() -> Result {
    const transport::QueuePairConfig config;
    auto queue_pair = domain->create_queue_pair(config);
    if (!queue_pair) {
      return std::unexpected{std::move(queue_pair).error()};
    }
    auto holder =
        std::make_shared<DomainQueuePair>(domain, *std::move(queue_pair), peer, config.max_send_wr);
    return std::shared_ptr<transport::OperationQueue>{holder, &holder->operations};
  };
  Result created = co_await work.run(std::move(create_queue_pair));
  if (created) {
    ++counters.queue_pairs_created;
  } else if (created.error().code() == ErrorCode::resource_exhausted) {
    table.look_soon();
  }
  co_return created;
}

asio::awaitable<std::expected<void, Error>> Connections::initialize(
    std::shared_ptr<transport::OperationQueue> operations) {
  if (operations->queue_pair().state() != transport::QueuePairState::reset) {
    co_return std::expected<void, Error>{};
  }
  auto initialize_queue_pair = [operations] { return operations->queue_pair().initialize(); };
  co_return co_await work.run(std::move(initialize_queue_pair));
}

asio::awaitable<std::expected<void, Error>> Connections::connect(
    std::shared_ptr<transport::OperationQueue> operations, messages::QpInfo endpoint) {
  auto connect_queue_pair = [operations, endpoint = std::move(endpoint)] {
    return operations->queue_pair().connect(endpoint);
  };
  co_return co_await work.run(std::move(connect_queue_pair));
}

asio::awaitable<void> Connections::sweep() {
  const std::vector<QueuePairKey> keys = table.left_behind();
  for (const QueuePairKey& key : keys) {
    const auto ticket = co_await order.enter(key);
    const std::shared_ptr<QueuePairEntry> entry = table.find(key);
    if (entry && QueuePairTable::is_left_behind(*entry)) {
      ++counters.queue_pairs_swept;
      table.remove(key, replaced_error(key, "the peer is gone"));
    }
  }
}

std::string describe_peer(const QueuePairKey& key) {
  return fmt::format("{} ({})", key.peer, key.peer_device);
}

Error replaced_error(const QueuePairKey& key, std::string_view why) {
  return {ErrorCode::queue_pair_reset,
          fmt::format("the queue pair from {} to {} was reset: {}; request it again",
                      key.self_device, describe_peer(key), why),
          {{"peer", key.peer}, {"device", key.self_device}}};
}

}  // namespace danaus::manager
