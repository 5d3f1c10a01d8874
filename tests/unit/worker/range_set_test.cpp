#include "worker/range_set.hpp"

#include <gtest/gtest.h>

#include <bitset>
#include <cstdint>
#include <random>

namespace danaus::worker {
namespace {

TEST(RangeSet, HoldsWhatWasInsertedAndNoNeighbour) {
  RangeSet set;
  EXPECT_FALSE(set.overlaps(0, 100));
  set.insert(10, 20);
  EXPECT_FALSE(set.overlaps(0, 10));
  EXPECT_TRUE(set.overlaps(0, 11));
  EXPECT_TRUE(set.overlaps(12, 13));
  EXPECT_TRUE(set.overlaps(19, 30));
  EXPECT_FALSE(set.overlaps(20, 30));
}

TEST(RangeSet, AgreesWithABitForEachAddress) {
  constexpr std::uint64_t addresses = 256;
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::minstd_rand random{seed};
    RangeSet set;
    std::bitset<addresses> bits;
    for (int step = 0; step < 40; ++step) {
      const std::uint64_t begin = random() % addresses;
      const std::uint64_t end =
          begin + 1 + random() % std::min<std::uint64_t>(16, addresses - begin);
      bool taken = false;
      for (std::uint64_t address = begin; address < end; ++address) {
        taken = taken || bits[address];
      }
      ASSERT_EQ(set.overlaps(begin, end), taken) << "seed " << seed << ", " << begin << ".." << end;
      if (random() % 2 == 0) {
        set.insert(begin, end);
        for (std::uint64_t address = begin; address < end; ++address) {
          bits.set(address);
        }
      }
    }
  }
}

}  // namespace
}  // namespace danaus::worker
