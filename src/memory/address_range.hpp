// AddressRange: a start and a size in bytes, checked for overflow once, where they come in.
// Any thread. Relies on messages/error.hpp.
#pragma once

#include <cstdint>
#include <expected>

#include "messages/error.hpp"

namespace danaus::memory {

/// A non-empty range of addresses whose end does not wrap. Made only by `make`.
class AddressRange {
 public:
  /// Errors: InvalidArgument for a zero size or a range that wraps past 2^64.
  [[nodiscard]] static std::expected<AddressRange, Error> make(std::uint64_t address,
                                                               std::uint64_t size);

  [[nodiscard]] std::uint64_t address() const noexcept { return address_; }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  /// One past the last byte; 0 when the range ends at 2^64.
  [[nodiscard]] std::uint64_t end() const noexcept { return address_ + size_; }

  /// Whether `length` bytes at `address` lie within; a zero length does at any address of the
  /// range, its end included.
  [[nodiscard]] bool contains(std::uint64_t address, std::uint64_t length) const noexcept;

 private:
  AddressRange(std::uint64_t address, std::uint64_t size) : address_{address}, size_{size} {}

  std::uint64_t address_;
  std::uint64_t size_;
};

/// Whether `length` bytes at `offset` lie within `size` bytes; never wraps.
[[nodiscard]] constexpr bool within(std::uint64_t offset, std::uint64_t length,
                                    std::uint64_t size) noexcept {
  return offset <= size && length <= size - offset;
}

}  // namespace danaus::memory
