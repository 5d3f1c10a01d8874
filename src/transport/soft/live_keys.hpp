// LiveKeys: the keys of a registered region, at an address where another process of this host can
// read them for as long as this one lives. Zero from the moment that the region is revoked. Whoever
// copied memory of the region and then still finds its key there copied what was registered.
// Any thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace danaus::transport::soft {

class LiveKeys {
 public:
  LiveKeys(std::uint64_t lkey, std::uint64_t rkey);
  LiveKeys(const LiveKeys&) = delete;
  LiveKeys& operator=(const LiveKeys&) = delete;
  ~LiveKeys();

  /// Takes the keys away, before anything that the caller does next to the memory.
  void revoke() noexcept;

  // Where the keys stand.
  [[nodiscard]] std::uint64_t lkey_address() const noexcept;
  [[nodiscard]] std::uint64_t rkey_address() const noexcept;

  struct Slot {
    std::atomic<std::uint64_t> lkey{0};
    std::atomic<std::uint64_t> rkey{0};
  };

 private:
  Slot& slot_;
};

}  // namespace danaus::transport::soft
