// ByteModel: what each byte of a range may be. Exact, except where an operation that would have
// written it failed: then it may be as before or as that operation would have left it, until a
// success says which. One thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace danaus::stress {

class ByteModel {
 public:
  /// `size` zeros.
  explicit ByteModel(std::size_t size) : cells_(size) {}

  /// A fresh life of the memory: zeros.
  void reset() { cells_.assign(cells_.size(), Cell{}); }

  /// These bytes were written, or read.
  void becomes(std::size_t offset, std::span<const std::byte> bytes);
  /// A write of these bytes failed.
  void may_become(std::size_t offset, std::span<const std::byte> bytes);
  /// A copy of what the other model says was not finished.
  void may_become(std::size_t offset, const ByteModel& source, std::size_t source_offset,
                  std::size_t length);

  /// Nothing is known of these.
  void may_be_anything(std::size_t offset, std::size_t length);

  /// The index of the first of `bytes` that is not what it may be.
  [[nodiscard]] std::optional<std::size_t> first_mismatch(std::size_t offset,
                                                          std::span<const std::byte> bytes) const;
  /// The bytes there, if each can be but one.
  [[nodiscard]] std::optional<std::vector<std::byte>> certain(std::size_t offset,
                                                              std::size_t length) const;
  /// What the byte at `offset` may be, for people.
  [[nodiscard]] std::vector<unsigned> allowed(std::size_t offset) const;

  [[nodiscard]] std::size_t size() const noexcept { return cells_.size(); }

 private:
  /// Up to four values; beyond that anything goes, which the caller avoids by looking soon.
  struct Cell {
    std::array<std::byte, 4> values{};
    std::uint8_t count = 1;

    [[nodiscard]] bool allows(std::byte value) const noexcept;
    void also(std::byte value) noexcept;
  };

  static constexpr std::uint8_t anything = 0;

  std::vector<Cell> cells_;
};

}  // namespace danaus::stress
