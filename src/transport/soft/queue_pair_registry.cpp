#include "transport/soft/queue_pair_registry.hpp"

#include "messages/bytes.hpp"
#include "transport/soft/frame.hpp"

namespace danaus::transport::soft {
namespace {

// 0 and 1 are the management queue pairs of InfiniBand.
constexpr std::uint32_t first_number = 2;

}  // namespace

std::uint32_t QueuePairRegistry::reserve() {
  const std::lock_guard lock{mutex_};
  for (;;) {
    const auto number = static_cast<std::uint32_t>(messages::random_u64()) & max_queue_pair_number;
    if (number >= first_number && queue_pairs_.try_emplace(number).second) {
      return number;
    }
  }
}

void QueuePairRegistry::bind(std::uint32_t number,
                             const std::shared_ptr<QueuePairCore>& queue_pair) {
  const std::lock_guard lock{mutex_};
  queue_pairs_[number] = queue_pair;
}

std::shared_ptr<QueuePairCore> QueuePairRegistry::find(std::uint32_t number) const {
  const std::lock_guard lock{mutex_};
  const auto found = queue_pairs_.find(number);
  return found == queue_pairs_.end() ? nullptr : found->second.lock();
}

void QueuePairRegistry::remove(std::uint32_t number) noexcept {
  const std::lock_guard lock{mutex_};
  queue_pairs_.erase(number);
}

std::size_t QueuePairRegistry::size() const {
  const std::lock_guard lock{mutex_};
  return queue_pairs_.size();
}

}  // namespace danaus::transport::soft
