// QueuePairRegistry: the soft queue pairs of this process by number, so that an incoming connection
// finds the one that it names. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace danaus::transport::soft {

class QueuePairCore;

class QueuePairRegistry {
 public:
  /// Draws a random number that no queue pair here has, and keeps it until `remove`.
  [[nodiscard]] std::uint32_t reserve();

  /// From now on `find` finds it.
  void bind(std::uint32_t number, const std::shared_ptr<QueuePairCore>& queue_pair);

  /// Nothing for an unknown number, or one whose queue pair is gone.
  [[nodiscard]] std::shared_ptr<QueuePairCore> find(std::uint32_t number) const;

  void remove(std::uint32_t number) noexcept;

  [[nodiscard]] std::size_t size() const;

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::uint32_t, std::weak_ptr<QueuePairCore>> queue_pairs_;
};

}  // namespace danaus::transport::soft
