// TestMemory: page-aligned memory for transports to move, with ways to fill it, to check it, and to
// take it away.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace danaus::transport::testing {

class TestMemory {
 public:
  /// Zeroed, mapped lazily.
  explicit TestMemory(std::size_t size);
  /// Any size at the cost of a few MiB: all of it shows the same tile over and over, but for its
  /// first and last page, which are of their own.
  [[nodiscard]] static TestMemory sparse(std::size_t size);
  TestMemory(TestMemory&& other) noexcept;
  TestMemory& operator=(TestMemory&&) = delete;
  ~TestMemory();

  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return {start_, size_}; }
  [[nodiscard]] std::uint64_t address() const noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// Bytes that differ from place to place and from seed to seed, in [offset, offset + length).
  void fill(unsigned seed, std::size_t offset, std::size_t length) const;
  void fill(unsigned seed) const { fill(seed, 0, size_); }
  /// Whether it is as `fill` with `seed` at `filled_at` would have made it at `offset`.
  [[nodiscard]] bool is_filled(unsigned seed, std::size_t offset, std::size_t length,
                               std::size_t filled_at) const;
  [[nodiscard]] bool is_filled(unsigned seed) const { return is_filled(seed, 0, size_, 0); }
  /// Whether [offset, offset + length) is as at first.
  [[nodiscard]] bool is_untouched(std::size_t offset, std::size_t length) const;
  [[nodiscard]] bool is_untouched() const { return is_untouched(0, size_); }

  /// Unmaps it; the addresses stay reserved, so that nothing else comes to lie there.
  void vanish() const;

 private:
  TestMemory(std::byte* start, std::size_t size, std::size_t mapped);

  std::byte* start_;
  std::size_t size_;
  std::size_t mapped_;
};

}  // namespace danaus::transport::testing
