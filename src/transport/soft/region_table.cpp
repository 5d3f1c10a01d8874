#include "transport/soft/region_table.hpp"

#include <mutex>
#include <span>
#include <utility>

#include "messages/bytes.hpp"

namespace danaus::transport::soft {
namespace {

constexpr std::uint32_t revoked_bit = 1U << 31U;
constexpr std::size_t initial_buckets = 16;

}  // namespace

// -- Region ---------------------------------------------------------------------------------------

Region::Use::Use(Use&& other) noexcept : region_{std::exchange(other.region_, nullptr)} {}

Region::Use& Region::Use::operator=(Use&& other) noexcept {
  if (this != &other) {
    if (region_ != nullptr) {
      region_->release();
    }
    region_ = std::exchange(other.region_, nullptr);
  }
  return *this;
}

Region::Use::~Use() {
  if (region_ != nullptr) {
    region_->release();
  }
}

Region::Use Region::acquire() noexcept {
  const std::uint32_t before = uses_.fetch_add(1, std::memory_order_acquire);
  if ((before & revoked_bit) != 0) {
    release();
    return Use{};
  }
  return Use{*this};
}

void Region::release() noexcept {
  const std::uint32_t before = uses_.fetch_sub(1, std::memory_order_release);
  if (before == (revoked_bit | 1U)) {
    uses_.notify_all();
  }
}

void Region::revoke() noexcept {
  uses_.fetch_or(revoked_bit, std::memory_order_acq_rel);
  live_keys_.revoke();
}

bool Region::revoked() const noexcept {
  return (uses_.load(std::memory_order_acquire) & revoked_bit) != 0;
}

void Region::wait_until_unused() noexcept {
  for (std::uint32_t uses = uses_.load(std::memory_order_acquire); uses != revoked_bit;
       uses = uses_.load(std::memory_order_acquire)) {
    uses_.wait(uses, std::memory_order_acquire);
  }
}

// -- RegionTable ----------------------------------------------------------------------------------

std::size_t RegionTable::SecretHash::operator()(std::uint64_t key) const noexcept {
  // The finaliser of splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number
  // Generators).
  std::uint64_t mixed = key ^ secret;
  mixed = (mixed ^ (mixed >> 30U)) * 0xBF58476D1CE4E5B9;
  mixed = (mixed ^ (mixed >> 27U)) * 0x94D049BB133111EB;
  return mixed ^ (mixed >> 31U);
}

bool RegionTable::ConstantTimeEqual::operator()(std::uint64_t left,
                                                std::uint64_t right) const noexcept {
  return messages::equal_in_constant_time(std::as_bytes(std::span{&left, 1}),
                                          std::as_bytes(std::span{&right, 1}));
}

RegionTable::RegionTable()
    : by_lkey_{initial_buckets, SecretHash{messages::random_u64()}},
      by_rkey_{initial_buckets, SecretHash{messages::random_u64()}} {}

std::shared_ptr<Region> RegionTable::add(memory::AddressRange range, AccessFlags access) {
  const std::unique_lock lock{mutex_};
  for (;;) {
    const std::uint64_t lkey = messages::random_u64();
    const std::uint64_t rkey = messages::random_u64();
    // 0 stays free for "no key".
    if (lkey == 0 || rkey == 0 || by_lkey_.contains(lkey) || by_rkey_.contains(rkey)) {
      continue;
    }
    auto region = std::make_shared<Region>(range, access, lkey, rkey);
    by_lkey_.emplace(lkey, region);
    by_rkey_.emplace(rkey, region);
    return region;
  }
}

void RegionTable::remove(const Region& region) noexcept {
  const std::unique_lock lock{mutex_};
  by_rkey_.erase(region.rkey());
  by_lkey_.erase(region.lkey());
}

std::shared_ptr<Region> RegionTable::find_local(std::uint64_t lkey) const {
  return find(by_lkey_, lkey);
}

std::shared_ptr<Region> RegionTable::find_remote(std::uint64_t rkey) const {
  return find(by_rkey_, rkey);
}

std::shared_ptr<Region> RegionTable::find(const Map& map, std::uint64_t key) const {
  const std::shared_lock lock{mutex_};
  const auto found = map.find(key);
  return found == map.end() ? nullptr : found->second;
}

std::size_t RegionTable::size() const {
  const std::shared_lock lock{mutex_};
  return by_lkey_.size();
}

}  // namespace danaus::transport::soft
