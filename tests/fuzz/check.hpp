// What a fuzz target ends with when a property does not hold.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace danaus::fuzz {

inline void check(bool holds, const char* property) {
  if (!holds) {
    std::fprintf(stderr, "does not hold: %s\n", property);
    std::abort();
  }
}

}  // namespace danaus::fuzz
