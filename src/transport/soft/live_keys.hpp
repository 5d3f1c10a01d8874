// LiveKeys: the keys of a registered region, each with the region's bounds, at addresses where
// another process of this host can read them for as long as this one lives. The keys are zero from
// the moment that the region is revoked. Whoever copied memory of the region and then still finds
// its key there copied what was registered. Any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "memory/address_range.hpp"

namespace danaus::transport::soft {

/// What is found where a key stands.
struct Witness {
  std::uint64_t key = 0;
  /// What the key is for: of this address, so many bytes.
  std::uint64_t address = 0;
  std::uint64_t size = 0;
};

class LiveKeys {
 public:
  LiveKeys(const memory::AddressRange& range, std::uint64_t lkey, std::uint64_t rkey);
  LiveKeys(const LiveKeys&) = delete;
  LiveKeys& operator=(const LiveKeys&) = delete;
  ~LiveKeys();

  /// Takes the keys away, before anything that the caller does next to the memory.
  void revoke() noexcept;

  // Where the keys stand, each in a Witness.
  [[nodiscard]] std::uint64_t lkey_address() const noexcept;
  [[nodiscard]] std::uint64_t rkey_address() const noexcept;

  /// A Witness that is written here and read from elsewhere.
  struct Entry {
    std::atomic<std::uint64_t> key{0};
    std::atomic<std::uint64_t> address{0};
    std::atomic<std::uint64_t> size{0};
  };
  struct Slot {
    Entry local;
    Entry remote;
  };

 private:
  Slot& slot_;
};

}  // namespace danaus::transport::soft
