#include "manager/queue_pair_table.hpp"

#include <algorithm>
#include <utility>

namespace danaus::manager {

using transport::QueuePairState;

bool QueuePairEntry::usable() const {
  if (handshake.confirmed()) {
    return state() == QueuePairState::ready_to_send;
  }
  // Whoever made it step by step has seen to the other end.
  return handshake.phase() == Phase::stepwise && state() == QueuePairState::ready_to_send;
}

std::optional<messages::Incarnation> QueuePairEntry::probable_incarnation() const {
  if (incarnation || !handshake.peer_attempt()) {
    return incarnation;
  }
  return handshake.peer_attempt()->incarnation;
}

Wiring QueuePairEntry::wiring(const messages::QpInfo& endpoint) const {
  if (state() == QueuePairState::error) {
    return Wiring::broken;
  }
  const auto remote = operations->queue_pair().remote_endpoint();
  if (!remote) {
    return Wiring::unconnected;
  }
  return *remote == endpoint ? Wiring::connected_to_it : Wiring::connected_elsewhere;
}

std::shared_ptr<QueuePairEntry> QueuePairTable::find(const QueuePairKey& key) const {
  const auto found = entries_.find(key);
  return found == entries_.end() ? nullptr : found->second;
}

std::optional<QueuePairKey> QueuePairTable::find_any(const std::string& self_device,
                                                     const std::string& peer) const {
  const auto found = entries_.lower_bound(QueuePairKey{self_device, peer, {}});
  if (found == entries_.end() || found->first.self_device != self_device ||
      found->first.peer != peer) {
    return std::nullopt;
  }
  return found->first;
}

void QueuePairTable::insert(const QueuePairKey& key, std::shared_ptr<QueuePairEntry> entry) {
  entries_.insert_or_assign(key, std::move(entry));
}

bool QueuePairTable::remove(const QueuePairKey& key, const Error& reason) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) {
    return false;
  }
  const std::shared_ptr<QueuePairEntry> entry = std::move(found->second);
  entries_.erase(found);
  // Taken out of the entry, which lives on while somebody waits on it: the queue pair must go on
  // `device-work`.
  retire(std::move(entry->operations), reason);
  entry->changed.notify();
  return true;
}

void QueuePairTable::replace(QueuePairEntry& entry,
                             std::shared_ptr<transport::OperationQueue> operations,
                             const Error& reason) {
  retire(std::exchange(entry.operations, std::move(operations)), reason);
  entry.changed.notify();
}

std::vector<std::shared_ptr<transport::OperationQueue>> QueuePairTable::take_all(
    const Error& reason) {
  std::vector<std::shared_ptr<transport::OperationQueue>> all;
  for (const auto& [key, entry] : std::exchange(entries_, {})) {
    entry->operations->abort(reason);
    all.push_back(std::move(entry->operations));
    entry->changed.notify();
  }
  return all;
}

std::vector<QueuePairKey> QueuePairTable::left_behind() {
  std::vector<QueuePairKey> keys;
  if (entries_.size() < look_at_size_) {
    return keys;
  }
  for (const auto& [key, entry] : entries_) {
    if (is_left_behind(*entry)) {
      keys.push_back(key);
    }
  }
  look_at_size_ = std::max(first_look_at_size, 2 * (entries_.size() - keys.size()));
  return keys;
}

bool QueuePairTable::is_left_behind(const QueuePairEntry& entry) {
  const Phase phase = entry.handshake.phase();
  const bool made_by_peer = entry.handshake.peer_attempt().has_value() && entry.peer_at.empty();
  return made_by_peer && (phase == Phase::ready || phase == Phase::awaiting_ready) &&
         entry.state() == QueuePairState::error;
}

messages::QueuePairDescriptor QueuePairTable::describe(const QueuePairKey& key,
                                                       const QueuePairEntry& entry) const {
  const transport::QueuePair& queue_pair = entry.operations->queue_pair();
  const auto remote = queue_pair.remote_endpoint();
  return {.transport = entry.transport,
          .self_device = key.self_device,
          .other = {key.peer, entry.peer_at},
          .other_device = key.peer_device,
          .qp_num = queue_pair.number(),
          .peer_qp_num = remote ? remote->qp_num : 0,
          .state = static_cast<std::uint32_t>(queue_pair.state()),
          .incarnation = entry.incarnation};
}

void QueuePairTable::retire(std::shared_ptr<transport::OperationQueue> operations,
                            const Error& reason) {
  operations->abort(reason);
  work_.destroy(std::move(operations));
}

}  // namespace danaus::manager
