// Sizes and durations as people write them on a command line, and as they read them.
// Any thread. Relies on nothing.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace danaus::tools {

/// A whole number of bytes, alone or with KiB, MiB or GiB: "65536", "64KiB". The error is a
/// sentence that names the accepted units.
[[nodiscard]] std::expected<std::uint64_t, std::string> parse_size(std::string_view text);

/// A whole number of milliseconds or seconds, the unit is a must: "250ms", "5s". At least 1 ms, at
/// most what a request's `timeout_ms` can hold (32 bits).
[[nodiscard]] std::expected<std::chrono::milliseconds, std::string> parse_duration(
    std::string_view text);

/// "512 B", "64 KiB", "1.5 GiB".
[[nodiscard]] std::string format_size(std::uint64_t bytes);

}  // namespace danaus::tools
