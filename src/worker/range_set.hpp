// RangeSet: which addresses are taken, as a union of ranges. One thread at a time.
#pragma once

#include <cstdint>
#include <map>

namespace danaus::worker {

class RangeSet {
 public:
  /// Whether any byte from `begin` up to `end`, exclusive, is in the set.
  [[nodiscard]] bool overlaps(std::uint64_t begin, std::uint64_t end) const;

  /// Adds a range, which is not empty and may overlap what is there.
  void insert(std::uint64_t begin, std::uint64_t end);

 private:
  // Ends by begins; disjoint, and neighbours are one.
  std::map<std::uint64_t, std::uint64_t> ranges_;
};

}  // namespace danaus::worker
