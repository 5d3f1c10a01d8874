// RegionTable: the registered memory of one domain, found by random 64-bit keys; Region: one of
// them, with the count of those who are using it right now. Any thread. A use lasts one system
// call, so whoever waits for the last one never waits for a peer.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <unordered_map>

#include "memory/address_range.hpp"
#include "transport/soft/live_keys.hpp"
#include "transport/types.hpp"

namespace danaus::transport::soft {

/// Registered memory. Shared between its MemoryRegion, its table, and work requests under way.
class Region {
 public:
  /// One use of a region; while it lives, `Region::wait_until_unused` does not return.
  class Use {
   public:
    Use() = default;
    Use(Use&& other) noexcept;
    Use& operator=(Use&& other) noexcept;
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    ~Use();

    /// False when the region is revoked: the memory must not be touched.
    explicit operator bool() const noexcept { return region_ != nullptr; }

   private:
    friend class Region;
    explicit Use(Region& region) noexcept : region_{&region} {}
    Region* region_ = nullptr;
  };

  Region(memory::AddressRange range, AccessFlags access, std::uint64_t lkey, std::uint64_t rkey)
      : range_{range}, access_{access}, lkey_{lkey}, rkey_{rkey}, live_keys_{range, lkey, rkey} {}

  [[nodiscard]] const memory::AddressRange& range() const noexcept { return range_; }
  [[nodiscard]] AccessFlags access() const noexcept { return access_; }
  [[nodiscard]] std::uint64_t lkey() const noexcept { return lkey_; }
  [[nodiscard]] std::uint64_t rkey() const noexcept { return rkey_; }
  /// Where processes of this host see whether it is still registered.
  [[nodiscard]] const LiveKeys& live_keys() const noexcept { return live_keys_; }

  /// Whether `length` bytes at `address` lie within.
  [[nodiscard]] bool contains(std::uint64_t address, std::uint64_t length) const noexcept {
    return range_.contains(address, length);
  }

  /// Begins a use, to be held for one system call at most. The region must outlive it.
  [[nodiscard]] Use acquire() noexcept;

  /// From now on every `acquire` fails.
  void revoke() noexcept;
  [[nodiscard]] bool revoked() const noexcept;

  /// After `revoke`: waits for the uses that began before it.
  void wait_until_unused() noexcept;

 private:
  void release() noexcept;

  memory::AddressRange range_;
  AccessFlags access_;
  std::uint64_t lkey_;
  std::uint64_t rkey_;
  LiveKeys live_keys_;
  /// The number of uses, and the top bit once revoked.
  std::atomic<std::uint32_t> uses_{0};
};

class RegionTable {
 public:
  RegionTable();

  /// Adds a region under two fresh keys.
  [[nodiscard]] std::shared_ptr<Region> add(memory::AddressRange range, AccessFlags access);

  /// Forgets a region; those who hold it keep it.
  void remove(const Region& region) noexcept;

  /// The region of a key, or nothing. Takes no longer for a key that is nearly right.
  [[nodiscard]] std::shared_ptr<Region> find_local(std::uint64_t lkey) const;
  [[nodiscard]] std::shared_ptr<Region> find_remote(std::uint64_t rkey) const;

  [[nodiscard]] std::size_t size() const;

 private:
  /// Scatters keys by a secret of this table's, so that the time a lookup takes tells nothing about
  /// the keys in it.
  struct SecretHash {
    std::uint64_t secret;
    std::size_t operator()(std::uint64_t key) const noexcept;
  };
  struct ConstantTimeEqual {
    bool operator()(std::uint64_t left, std::uint64_t right) const noexcept;
  };
  using Map =
      std::unordered_map<std::uint64_t, std::shared_ptr<Region>, SecretHash, ConstantTimeEqual>;

  [[nodiscard]] std::shared_ptr<Region> find(const Map& map, std::uint64_t key) const;

  mutable std::shared_mutex mutex_;
  Map by_lkey_;
  Map by_rkey_;
};

}  // namespace danaus::transport::soft
