// PathPolicy: which ways a soft queue pair may move its bytes. Plain data.
#pragma once

#include <cstdint>

namespace danaus::transport::soft {

enum class PathPolicy : std::uint8_t {
  /// By copying within one host where that is possible, else over TCP.
  automatic,
  tcp,
  copy,
};

}  // namespace danaus::transport::soft
