// ConnectionCache: the queue pairs that puts and gets of this process go over, so that one that is
// repeated asks nobody. Any thread.
#pragma once

#include <map>
#include <memory>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "messages/bytes.hpp"
#include "transport/operation_queue.hpp"

namespace danaus::worker {

/// Which connection: to which life of which peer, by which devices.
struct ConnectionKey {
  std::string_view peer;
  messages::Incarnation incarnation{};
  std::string_view self_device;
  std::string_view other_device;
};

class ConnectionCache {
 public:
  /// Nothing where there is none, or none that is usable: it is in ERR, or the manager let it go.
  [[nodiscard]] std::shared_ptr<transport::OperationQueue> find(const ConnectionKey& key) const;

  /// Takes the place of what is there, and of all connections to other lives of that peer.
  void insert(const ConnectionKey& key,
              const std::shared_ptr<transport::OperationQueue>& operations);

  /// Empties it; returns what was usable.
  [[nodiscard]] std::vector<std::shared_ptr<transport::OperationQueue>> take_all();

 private:
  using Key = std::tuple<std::string, messages::Incarnation, std::string, std::string>;
  using KeyView =
      std::tuple<std::string_view, messages::Incarnation, std::string_view, std::string_view>;

  mutable std::shared_mutex mutex_;
  // Weak: the manager's table decides how long a queue pair lives.
  std::map<Key, std::weak_ptr<transport::OperationQueue>, std::less<>> connections_;
};

}  // namespace danaus::worker
