// The region table: keys, bounds, revocation, and waiting for uses; against a model that is a plain
// list.
#include "transport/soft/region_table.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <future>
#include <set>
#include <thread>
#include <vector>

namespace danaus::transport::soft {
namespace {

memory::AddressRange range(std::uint64_t address, std::uint64_t size) {
  return *memory::AddressRange::make(address, size);
}

TEST(SoftRegionTable, FindsARegionByEitherKeyAndByNoOther) {
  RegionTable table;
  const auto region = table.add(range(0x1000, 64), full_access);
  EXPECT_EQ(table.find_local(region->lkey()), region);
  EXPECT_EQ(table.find_remote(region->rkey()), region);
  EXPECT_EQ(table.find_remote(region->lkey()), nullptr) << "an lkey gives no remote access";
  EXPECT_EQ(table.find_local(region->rkey()), nullptr);
  EXPECT_EQ(table.find_remote(region->rkey() ^ 1U), nullptr);
  EXPECT_EQ(table.find_remote(0), nullptr);
}

TEST(SoftRegionTable, KeysOfOneTableMeanNothingInAnother) {
  RegionTable one;
  RegionTable other;
  const auto region = one.add(range(0x1000, 64), full_access);
  EXPECT_EQ(other.find_remote(region->rkey()), nullptr);
  EXPECT_EQ(other.find_local(region->lkey()), nullptr);
}

TEST(SoftRegionTable, ARevokedRegionRefusesNewUses) {
  RegionTable table;
  const auto region = table.add(range(0x1000, 64), full_access);
  EXPECT_TRUE(region->acquire());
  region->revoke();
  EXPECT_FALSE(region->acquire());
  region->wait_until_unused();
}

TEST(SoftRegionTable, WaitsForAUseThatBeganBeforeTheRevocation) {
  RegionTable table;
  const auto region = table.add(range(0x1000, 64), full_access);
  auto use = region->acquire();
  ASSERT_TRUE(use);
  region->revoke();
  std::atomic<bool> released{false};
  auto waiting = std::async(std::launch::async, [&] {
    region->wait_until_unused();
    return released.load();
  });
  std::this_thread::yield();
  released = true;
  use = Region::Use{};
  EXPECT_TRUE(waiting.get()) << "the wait ended while the region was in use";
}

TEST(SoftRegionTable, UsesAndRevocationFromManyThreadsEnd) {
  RegionTable table;
  const auto region = table.add(range(0x1000, 64), full_access);
  std::vector<std::thread> users;
  for (int i = 0; i < 4; ++i) {
    users.emplace_back([&] {
      while (region->acquire()) {
      }
    });
  }
  region->revoke();
  region->wait_until_unused();
  for (std::thread& user : users) {
    user.join();
  }
  EXPECT_FALSE(region->acquire());
}

RC_GTEST_PROP(SoftRegionTable, BehavesLikeAListOfRegions, ()) {
  RegionTable table;
  std::vector<std::shared_ptr<Region>> model;
  std::vector<std::uint64_t> forgotten;
  std::set<std::uint64_t> keys;
  const int steps = *rc::gen::inRange(1, 60);
  for (int i = 0; i < steps; ++i) {
    const bool add = model.empty() || *rc::gen::arbitrary<bool>();
    if (add) {
      const auto address = *rc::gen::arbitrary<std::uint32_t>();
      const auto size = *rc::gen::inRange<std::uint64_t>(1, 1U << 20U);
      model.push_back(table.add(range(address, size), full_access));
      RC_ASSERT(keys.insert(model.back()->rkey()).second);
      RC_ASSERT(keys.insert(model.back()->lkey()).second);
    } else {
      const auto index = *rc::gen::inRange<std::size_t>(0, model.size());
      forgotten.push_back(model[index]->rkey());
      table.remove(*model[index]);
      model.erase(model.begin() + static_cast<std::ptrdiff_t>(index));
    }
    RC_ASSERT(table.size() == model.size());
    for (const auto& region : model) {
      RC_ASSERT(table.find_remote(region->rkey()) == region);
      RC_ASSERT(table.find_local(region->lkey()) == region);
    }
    for (const std::uint64_t rkey : forgotten) {
      RC_ASSERT(table.find_remote(rkey) == nullptr);
    }
  }
}

RC_GTEST_PROP(SoftRegionTable, ContainsExactlyWhatLiesWithin,
              (std::uint64_t address, std::uint64_t length)) {
  const std::uint64_t start = *rc::gen::inRange<std::uint64_t>(1, ~std::uint64_t{0} - 4096);
  const std::uint64_t size = *rc::gen::inRange<std::uint64_t>(1, 4096);
  const Region region{range(start, size), full_access, 1, 2};
  // In 128 bits nothing wraps.
  __extension__ using Wide = unsigned __int128;
  const bool inside = Wide{address} >= start && Wide{address} + length <= Wide{start} + size;
  RC_ASSERT(region.contains(address, length) == inside);
  const std::uint64_t offset = *rc::gen::inRange<std::uint64_t>(0, size + 1);
  RC_ASSERT(region.contains(start + offset, size - offset));
  RC_ASSERT(!region.contains(start + offset, size - offset + 1));
}

}  // namespace
}  // namespace danaus::transport::soft
