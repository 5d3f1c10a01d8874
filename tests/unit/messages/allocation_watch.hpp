// How much memory the code under test asks for at once.
// One thread. Sees malloc (the linker wraps it) and operator new of the whole test binary.
#pragma once

#include <cstddef>

namespace danaus::messages::test {

/// The largest single allocation since it was last set to zero, in bytes.
extern std::size_t largest_allocation;

}  // namespace danaus::messages::test
