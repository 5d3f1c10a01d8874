#include "memory/address_range.hpp"

#include <spdlog/fmt/fmt.h>

#include <limits>

namespace danaus::memory {

std::expected<AddressRange, Error> AddressRange::make(std::uint64_t address, std::uint64_t size) {
  if (size == 0) {
    return std::unexpected{
        Error{ErrorCode::invalid_argument,
              fmt::format("the range at {:#x} has size 0; give at least one byte", address)}};
  }
  if (size - 1 > std::numeric_limits<std::uint64_t>::max() - address) {
    return std::unexpected{
        Error{ErrorCode::invalid_argument,
              fmt::format("the range of {} bytes at {:#x} wraps past the end of the address space; "
                          "check address and size",
                          size, address)}};
  }
  return AddressRange{address, size};
}

bool AddressRange::contains(std::uint64_t address, std::uint64_t length) const noexcept {
  return address >= address_ && within(address - address_, length, size_);
}

}  // namespace danaus::memory
