#include "transport/soft/live_keys.hpp"

#include <deque>
#include <mutex>
#include <vector>

namespace danaus::transport::soft {
namespace {

/// Slots, used again but never given back: a peer that comes too late reads a zero or another
/// region's key, and never what the memory has become since.
class Slots {
 public:
  LiveKeys::Slot& take() {
    const std::lock_guard lock{mutex_};
    if (free_.empty()) {
      // Room to give it back without allocating.
      free_.reserve(all_.size() + 1);
      return all_.emplace_back();
    }
    LiveKeys::Slot& slot = *free_.back();
    free_.pop_back();
    return slot;
  }

  void give_back(LiveKeys::Slot& slot) noexcept {
    const std::lock_guard lock{mutex_};
    free_.push_back(&slot);
  }

 private:
  std::mutex mutex_;
  // A deque: addresses stay put as it grows.
  std::deque<LiveKeys::Slot> all_;
  std::vector<LiveKeys::Slot*> free_;
};

Slots& slots() {
  // Never destroyed: regions may outlive static objects.
  static Slots& all = *new Slots;  // NOLINT(cppcoreguidelines-owning-memory)
  return all;
}

std::uint64_t address_of(const LiveKeys::Entry& entry) noexcept {
  static_assert(sizeof entry == sizeof(Witness));
  return reinterpret_cast<std::uintptr_t>(&entry);
}

void fill(LiveKeys::Entry& entry, const memory::AddressRange& range, std::uint64_t key) noexcept {
  entry.address.store(range.address(), std::memory_order_relaxed);
  entry.size.store(range.size(), std::memory_order_relaxed);
  entry.key.store(key, std::memory_order_release);
}

}  // namespace

LiveKeys::LiveKeys(const memory::AddressRange& range, std::uint64_t lkey, std::uint64_t rkey)
    : slot_{slots().take()} {
  fill(slot_.local, range, lkey);
  fill(slot_.remote, range, rkey);
}

LiveKeys::~LiveKeys() {
  revoke();
  slots().give_back(slot_);
}

void LiveKeys::revoke() noexcept {
  slot_.local.key.store(0, std::memory_order_relaxed);
  slot_.remote.key.store(0, std::memory_order_relaxed);
  // Whoever sees what is written to the memory after this sees the zeros as well.
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

std::uint64_t LiveKeys::lkey_address() const noexcept {
  return address_of(slot_.local);
}

std::uint64_t LiveKeys::rkey_address() const noexcept {
  return address_of(slot_.remote);
}

}  // namespace danaus::transport::soft
