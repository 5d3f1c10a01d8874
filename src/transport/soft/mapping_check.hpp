// Whether a range of addresses is mapped, and with which rights. Any thread; reads /proc/self/maps,
// so it may take a while in a process with very many mappings.
#pragma once

#include <cstdint>
#include <expected>

#include "memory/address_range.hpp"
#include "messages/error.hpp"

namespace danaus::transport::soft {

/// Checks that every page of `range` is mapped readable, and writable if `writable`. Looks at
/// mappings, not at pages: a sparse range of any size takes no longer. Errors: RegistrationFailed,
/// naming the range and where it breaks off; IoFailed.
[[nodiscard]] std::expected<void, Error> check_mapped(const memory::AddressRange& range,
                                                      bool writable);

/// Whether the page at `address` is mapped so; true when that cannot be found out.
[[nodiscard]] bool is_mapped(std::uint64_t address, bool writable) noexcept;

}  // namespace danaus::transport::soft
