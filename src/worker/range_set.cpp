#include "worker/range_set.hpp"

#include <algorithm>
#include <iterator>

namespace danaus::worker {

bool RangeSet::overlaps(std::uint64_t begin, std::uint64_t end) const {
  const auto next = ranges_.lower_bound(end);  // the first that begins too late
  return next != ranges_.begin() && std::prev(next)->second > begin;
}

void RangeSet::insert(std::uint64_t begin, std::uint64_t end) {
  auto next = ranges_.upper_bound(end);
  while (next != ranges_.begin() && std::prev(next)->second >= begin) {
    const auto merged = std::prev(next);
    begin = std::min(begin, merged->first);
    end = std::max(end, merged->second);
    next = ranges_.erase(merged);
  }
  ranges_.emplace_hint(next, begin, end);
}

}  // namespace danaus::worker
