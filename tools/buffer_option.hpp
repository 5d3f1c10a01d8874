// `--buffer NAME=SIZE`: the named buffers that a worker is to offer.
// Any thread. Relies on quantity.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace danaus::tools {

struct BufferOption {
  std::string name;
  /// In bytes, never 0.
  std::uint64_t size = 0;
};

/// Names match [A-Za-z0-9._-]{1,200}, so that ID@ENDPOINT/NAME reads one way, and are given once.
/// Throws UsageError.
[[nodiscard]] std::vector<BufferOption> parse_buffer_options(const std::vector<std::string>& texts);

}  // namespace danaus::tools
