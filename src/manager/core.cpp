#include "manager/core.hpp"

#include <utility>

namespace danaus::manager {
namespace {

Error shut_down(const std::string& self) {
  return {ErrorCode::shutting_down,
          self + " is shutting down; ask again when it is back",
          {{"peer", self}}};
}

}  // namespace

Core::Core(ManagerConfig config, std::unique_ptr<PeerLink> peer_link, asio::io_context& device_work,
           asio::io_context& data_context,
           std::vector<std::unique_ptr<transport::Device>> all_devices,
           std::function<std::map<std::string, std::uint64_t>()> more_counters)
    : link{std::move(peer_link)},
      work{link->context(), device_work},
      devices{std::move(all_devices), std::move(config.device), config.require_rdma,
              link->context(), work},
      buffers{config.register_policy, *link, devices, work, counters},
      activity{link->context()},
      connections{*link, devices, work, counters},
      directory{*link},
      connector{connections, directory, {config.connect_timeout, config.ready_patience}, activity},
      passive{connections, connector},
      stepwise{connections, connector},
      queue_pairs{connections, directory, connector},
      transfers{config.max_transfers, config.require_rdma, connections, buffers,
                queue_pairs,          data_context},
      more_counters_{std::move(more_counters)} {}

asio::awaitable<void> Core::tear_down() {
  shutting_down = true;
  const Error reason = shut_down(link->self().id);
  transfers.cancel_all(reason);
  co_await activity.idle();

  // Each step is destroyed on `device-work` before the next begins.
  auto queue_pairs_left = connections.table.take_all(reason);
  auto destroy_queue_pairs = [left = std::move(queue_pairs_left)]() mutable {
    left.clear();
    return true;
  };
  co_await work.run(std::move(destroy_queue_pairs));

  auto buffers_left = buffers.table().take_all();
  auto destroy_buffers = [left = std::move(buffers_left)]() mutable {
    left.clear();
    return true;
  };
  co_await work.run(std::move(destroy_buffers));

  auto domains_left = devices.take_domains();
  auto destroy_domains = [left = std::move(domains_left)]() mutable {
    left.clear();
    return true;
  };
  co_await work.run(std::move(destroy_domains));
}

}  // namespace danaus::manager
