#include "transport/atomic_results.hpp"

#include <numeric>
#include <utility>

namespace danaus::transport {

std::expected<void, Error> AtomicResults::prepare() {
  const std::lock_guard lock{mutex_};
  if (region_ != nullptr) {
    return {};
  }
  values_.resize(slots_);
  auto region = domain_.register_memory(reinterpret_cast<std::uintptr_t>(values_.data()),
                                        slots_ * atomic_length, AccessFlags::local_write);
  if (!region) {
    return std::unexpected{std::move(region).error()};
  }
  free_.resize(slots_);
  std::iota(free_.rbegin(), free_.rend(), 0U);
  region_ = *std::move(region);
  return {};
}

std::optional<std::uint32_t> AtomicResults::take() noexcept {
  if (free_.empty()) {
    return std::nullopt;
  }
  const std::uint32_t slot = free_.back();
  free_.pop_back();
  return slot;
}

std::uint64_t AtomicResults::address_of(std::uint32_t slot) const noexcept {
  return region_->address() + slot * atomic_length;
}

std::uint64_t AtomicResults::give_back(std::uint32_t slot) noexcept {
  free_.push_back(slot);  // its capacity is that of all
  return values_[slot];
}

}  // namespace danaus::transport
