// Binary values of the wire: `bin` in MessagePack, lower-case hex in JSON.
// Any thread. Relies on nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace danaus::messages {

/// Bytes of any length.
using Bytes = std::vector<std::byte>;

/// Bytes of a length that the protocol fixes; any other length is refused on decoding.
template <std::size_t N>
using FixedBytes = std::array<std::byte, N>;

/// 16 random bytes drawn at each start of a worker: tells one life of an identity from the next.
using Incarnation = FixedBytes<16>;

[[nodiscard]] std::string to_hex(std::span<const std::byte> bytes);

/// Lower- or upper-case hex; nothing for an odd length or another character.
[[nodiscard]] std::optional<Bytes> from_hex(std::string_view text);

/// Fills `bytes` from the kernel's random source (getrandom(2)).
void fill_random(std::span<std::byte> bytes);

template <std::size_t N>
[[nodiscard]] FixedBytes<N> random_bytes() {
  FixedBytes<N> bytes{};
  fill_random(bytes);
  return bytes;
}

[[nodiscard]] std::uint64_t random_u64();

/// Compares without a data-dependent branch, for secrets (rkeys, connection tokens).
[[nodiscard]] bool equal_in_constant_time(std::span<const std::byte> left,
                                          std::span<const std::byte> right) noexcept;

}  // namespace danaus::messages
