#include "tests/unit/transport/behaviour/test_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <system_error>
#include <utility>

namespace danaus::transport::testing {
namespace {

constexpr std::size_t page_size = 4096;
constexpr std::size_t tile_size = std::size_t{4} << 20U;
constexpr int anonymous = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

void* checked(void* mapped) {
  if (mapped == MAP_FAILED) {
    throw std::system_error{errno, std::generic_category(), "mmap"};
  }
  return mapped;
}

std::byte* map(std::size_t size) {
  return static_cast<std::byte*>(
      checked(::mmap(nullptr, size, PROT_READ | PROT_WRITE, anonymous, -1, 0)));
}

std::size_t whole_pages(std::size_t size) {
  return std::max(page_size, (size + page_size - 1) / page_size * page_size);
}

// 251 is prime: neighbours differ, and no two pages are alike within a MiB.
std::byte pattern(unsigned seed, std::size_t index) {
  return static_cast<std::byte>((index + index / page_size + std::size_t{seed} * 37) % 251 + 1);
}

}  // namespace

TestMemory::TestMemory(std::byte* start, std::size_t size, std::size_t mapped)
    : start_{start}, size_{size}, mapped_{mapped} {}

TestMemory::TestMemory(std::size_t size)
    : TestMemory{map(whole_pages(size)), size, whole_pages(size)} {}

TestMemory TestMemory::sparse(std::size_t size) {
  TestMemory memory{size};
  const int tile = ::memfd_create("tile", MFD_CLOEXEC);
  if (tile < 0 || ::ftruncate(tile, tile_size) != 0) {
    throw std::system_error{errno, std::generic_category(), "memfd_create"};
  }
  const std::size_t last_page = memory.mapped_ - page_size;
  for (std::size_t at = page_size; at < last_page; at += tile_size) {
    checked(::mmap(memory.start_ + at, std::min(tile_size, last_page - at), PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_FIXED, tile, 0));
  }
  ::close(tile);
  return memory;
}

TestMemory::TestMemory(TestMemory&& other) noexcept
    : start_{other.start_}, size_{other.size_}, mapped_{std::exchange(other.mapped_, 0)} {}

TestMemory::~TestMemory() {
  if (mapped_ != 0) {
    ::munmap(start_, mapped_);
  }
}

std::uint64_t TestMemory::address() const noexcept {
  return std::bit_cast<std::uint64_t>(start_);
}

void TestMemory::fill(unsigned seed, std::size_t offset, std::size_t length) const {
  for (std::size_t i = 0; i < length; ++i) {
    start_[offset + i] = pattern(seed, i);
  }
}

bool TestMemory::is_filled(unsigned seed, std::size_t offset, std::size_t length,
                           std::size_t filled_at) const {
  for (std::size_t i = offset; i < offset + length; ++i) {
    if (start_[i] != pattern(seed, i - filled_at)) {
      return false;
    }
  }
  return true;
}

bool TestMemory::is_untouched(std::size_t offset, std::size_t length) const {
  return std::ranges::all_of(bytes().subspan(offset, length),
                             [](std::byte byte) { return byte == std::byte{0}; });
}

void TestMemory::vanish() const {
  checked(::mmap(start_, mapped_, PROT_NONE, anonymous | MAP_FIXED, -1, 0));
}

}  // namespace danaus::transport::testing
