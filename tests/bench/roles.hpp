// What the two processes of the benchmark do.
#pragma once

#include <cstdint>
#include <string>

#include "tests/bench/processes.hpp"

namespace danaus::bench {

/// The long operations: 64 MiB.
inline constexpr std::uint64_t long_length = std::uint64_t{64} << 20U;
/// The short ones, in bytes.
inline constexpr std::uint64_t short_length = 8;
/// Short operations in one measurement: enough to even out what the scheduler does.
inline constexpr std::uint64_t short_count = 2000;

/// Owns the memory that is written and read; serves until the requester is done.
void run_responder(Channel channel);

/// Measures (`only` one of them, unless empty) and sends {measurement: {"danaus": [seconds],
/// "socket": [seconds]}}, `rounds` values
/// each, taken in turns.
void run_requester(Channel channel, unsigned rounds, const std::string& only);

}  // namespace danaus::bench
