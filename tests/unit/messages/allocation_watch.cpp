// Apart from the tests, so that the compiler does not look through operator new where it is used:
// GCC 12 then takes the free below for a mismatch.
#include "allocation_watch.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace danaus::messages::test {

std::size_t largest_allocation = 0;

}  // namespace danaus::messages::test

// NOLINTBEGIN(misc-new-delete-overloads,bugprone-reserved-identifier,readability-identifier-naming):
// the names are the linker's (--wrap=malloc).
extern "C" void* __real_malloc(std::size_t size);
extern "C" void* __wrap_malloc(std::size_t size) {
  using danaus::messages::test::largest_allocation;
  largest_allocation = std::max(largest_allocation, size);
  return __real_malloc(size);
}

void* operator new(std::size_t size) {
  if (void* memory = std::malloc(size)) {
    return memory;
  }
  throw std::bad_alloc{};
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t /*size*/) noexcept {
  std::free(memory);
}
// NOLINTEND(misc-new-delete-overloads,bugprone-reserved-identifier,readability-identifier-naming)
