#include "manager/queue_pairs.hpp"

#include <utility>

namespace danaus::manager {
namespace {

/// What the peer says when the device that we chose from its list is not there any more.
bool means_outdated_devices(ErrorCode code) {
  return code == ErrorCode::unknown_device || code == ErrorCode::device_unusable ||
         code == ErrorCode::transport_mismatch;
}

}  // namespace

asio::awaitable<std::expected<QueuePairHandle, Error>> QueuePairs::request(
    messages::ActorRef other, std::optional<messages::Incarnation> incarnation,
    std::string self_device, std::string other_device, Clock::time_point deadline) {
  for (bool may_be_outdated = other_device.empty();; may_be_outdated = false) {
    auto route = co_await routes_.choose(other, incarnation, self_device, other_device, deadline);
    if (!route) {
      co_return std::unexpected{std::move(route).error()};
    }
    const auto entry = co_await connector_.obtain(*route, deadline);
    if (!entry) {
      if (may_be_outdated && means_outdated_devices(entry.error().code())) {
        directory_.forget(other.id);
        continue;
      }
      co_return std::unexpected{entry.error()};
    }
    co_return QueuePairHandle{(*entry)->operations,
                              connections_.table.describe(route->key, **entry)};
  }
}

}  // namespace danaus::manager
