// KnownGrants: which regions of the peer's a requester has been granted, so that it need not ask
// again: what a grant says stays true until the region's witness says else. Guarded by the
// requester's queue pair.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "memory/address_range.hpp"
#include "transport/soft/live_keys.hpp"

namespace danaus::transport::soft {

class KnownGrants {
 public:
  /// So many regions; one more takes the place of the oldest.
  static constexpr std::size_t capacity = 16;

  /// `found` stood at `witness_address` after a copy that had been granted.
  void remember(const Witness& found, std::uint64_t witness_address) noexcept {
    if (witness_of(found.key, found.address, found.size) == 0) {
      grants_[next_] = {found, witness_address};
      next_ = (next_ + 1) % capacity;
    }
  }

  /// Where the witness of `rkey` stands, if `length` bytes (not 0) at `address` are of its region;
  /// else 0.
  [[nodiscard]] std::uint64_t witness_of(std::uint64_t rkey, std::uint64_t address,
                                         std::uint64_t length) const noexcept {
    for (const Grant& grant : grants_) {
      const Witness& found = grant.found;
      if (grant.witness_address != 0 && found.key == rkey && address >= found.address &&
          memory::within(address - found.address, length, found.size)) {
        return grant.witness_address;
      }
    }
    return 0;
  }

 private:
  struct Grant {
    Witness found;
    std::uint64_t witness_address = 0;
  };

  std::array<Grant, capacity> grants_{};
  std::size_t next_ = 0;
};

}  // namespace danaus::transport::soft
