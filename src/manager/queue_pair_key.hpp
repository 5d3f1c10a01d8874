// QueuePairKey: what tells one queue pair of a manager from another. Any thread; plain data.
#pragma once

#include <compare>
#include <string>

namespace danaus::manager {

/// One queue pair per key, used in both directions. The peer's life is not part of it: a restarted
/// peer takes the place of its earlier life.
struct QueuePairKey {
  std::string self_device;
  /// The peer's identity.
  std::string peer;
  std::string peer_device;

  /// The key by which `self`'s peer knows the same pair; of use where the peer is `self`.
  [[nodiscard]] QueuePairKey mirrored(const std::string& self) const {
    return {peer_device, self, self_device};
  }

  friend auto operator<=>(const QueuePairKey&, const QueuePairKey&) = default;
};

}  // namespace danaus::manager
