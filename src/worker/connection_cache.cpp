#include "worker/connection_cache.hpp"

#include <mutex>

namespace danaus::worker {

namespace {

bool is_usable(const transport::OperationQueue& operations) {
  return operations.queue_pair().state() == transport::QueuePairState::ready_to_send;
}

}  // namespace

std::shared_ptr<transport::OperationQueue> ConnectionCache::find(const ConnectionKey& key) const {
  std::shared_ptr<transport::OperationQueue> operations;
  {
    const std::shared_lock lock{mutex_};
    const auto found =
        connections_.find(KeyView{key.peer, key.incarnation, key.self_device, key.other_device});
    if (found != connections_.end()) {
      operations = found->second.lock();
    }
  }
  // Without the lock: a live query may take a system call.
  return operations && is_usable(*operations) ? operations : nullptr;
}

void ConnectionCache::insert(const ConnectionKey& key,
                             const std::shared_ptr<transport::OperationQueue>& operations) {
  const std::lock_guard lock{mutex_};
  std::erase_if(connections_, [&key](const auto& entry) {
    const auto& [peer, incarnation, self_device, other_device] = entry.first;
    return entry.second.expired() || (peer == key.peer && incarnation != key.incarnation);
  });
  connections_[Key{key.peer, key.incarnation, key.self_device, key.other_device}] = operations;
}

std::vector<std::shared_ptr<transport::OperationQueue>> ConnectionCache::take_all() {
  const std::lock_guard lock{mutex_};
  std::vector<std::shared_ptr<transport::OperationQueue>> usable;
  for (const auto& [key, connection] : connections_) {
    if (auto operations = connection.lock()) {
      usable.push_back(std::move(operations));
    }
  }
  connections_.clear();
  return usable;
}

}  // namespace danaus::worker
