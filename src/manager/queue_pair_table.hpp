// QueuePairTable: the manager's queue pairs by key, with where each one's handshake stands.
// `mailbox` thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "manager/device_work.hpp"
#include "manager/handshake.hpp"
#include "manager/queue_pair_key.hpp"
#include "manager/signal.hpp"
#include "messages/values.hpp"
#include "transport/operation_queue.hpp"

namespace danaus::manager {

struct QueuePairEntry {
  QueuePairEntry(asio::io_context& context, Phase phase) : handshake{phase}, changed{context} {}

  Handshake handshake;
  /// Null only once the entry has left the table. Shared with callers who put and get through it;
  /// it goes when the last lets go.
  std::shared_ptr<transport::OperationQueue> operations;
  std::string transport;
  /// Where the peer was last dialled; empty for what the peer made.
  std::string peer_at;
  /// The peer's life, set only from a reply on a connection that we dialled.
  std::optional<messages::Incarnation> incarnation;
  /// Notified when the handshake moves on or the entry leaves the table.
  Signal changed;

  [[nodiscard]] transport::QueuePairState state() const { return operations->queue_pair().state(); }
  /// May be handed to a caller: connected at both ends and not in ERR.
  [[nodiscard]] bool usable() const;
  /// The peer's life as verified, else as it claimed when it connected.
  [[nodiscard]] std::optional<messages::Incarnation> probable_incarnation() const;
  [[nodiscard]] Wiring wiring(const messages::QpInfo& endpoint) const;
};

class QueuePairTable {
 public:
  /// So many pairs of dead peers may stay before the first look for them.
  static constexpr std::size_t first_look_at_size = 8;

  explicit QueuePairTable(DeviceWork& work) : work_{work} {}

  /// The entry, or null. Shared with those who wait for it to change.
  [[nodiscard]] std::shared_ptr<QueuePairEntry> find(const QueuePairKey& key) const;
  /// The first entry with this peer over this own device, whatever the peer's device.
  [[nodiscard]] std::optional<QueuePairKey> find_any(const std::string& self_device,
                                                     const std::string& peer) const;

  void insert(const QueuePairKey& key, std::shared_ptr<QueuePairEntry> entry);

  /// Has the next look for pairs of dead peers come at once: something has run short.
  void look_soon() noexcept { look_at_size_ = 0; }

  /// Takes the entry out; its queue pair goes to ERR for `reason` and is destroyed on `device-work`
  /// once no caller holds it. False where there is none.
  bool remove(const QueuePairKey& key, const Error& reason);

  /// Puts another queue pair in the entry's; the old one goes as with `remove`.
  void replace(QueuePairEntry& entry, std::shared_ptr<transport::OperationQueue> operations,
               const Error& reason);

  [[nodiscard]] const std::map<QueuePairKey, std::shared_ptr<QueuePairEntry>>& entries() const {
    return entries_;
  }

  /// All of them, to be destroyed.
  [[nodiscard]] std::vector<std::shared_ptr<transport::OperationQueue>> take_all(
      const Error& reason);

  /// Pairs that a peer made and that are in ERR: no request of ours may ever ask for them again,
  /// and a peer that comes back makes a new one. A look at each costs, so there is none, and an
  /// empty answer, until the table has doubled since the last one.
  [[nodiscard]] std::vector<QueuePairKey> left_behind();
  /// Whether `left_behind` would name this one.
  [[nodiscard]] static bool is_left_behind(const QueuePairEntry& entry);

  [[nodiscard]] messages::QueuePairDescriptor describe(const QueuePairKey& key,
                                                       const QueuePairEntry& entry) const;

 private:
  void retire(std::shared_ptr<transport::OperationQueue> operations, const Error& reason);

  DeviceWork& work_;
  std::map<QueuePairKey, std::shared_ptr<QueuePairEntry>> entries_;
  std::size_t look_at_size_ = first_look_at_size;
};

}  // namespace danaus::manager
