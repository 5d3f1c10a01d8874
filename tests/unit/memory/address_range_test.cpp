#include "memory/address_range.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace danaus::memory {
namespace {

constexpr std::uint64_t last_address = std::numeric_limits<std::uint64_t>::max();

TEST(AddressRange, KeepsItsStartAndSize) {
  const auto range = AddressRange::make(4096, 100);
  ASSERT_TRUE(range);
  EXPECT_EQ(range->address(), 4096U);
  EXPECT_EQ(range->size(), 100U);
  EXPECT_EQ(range->end(), 4196U);
}

TEST(AddressRange, RefusesASizeOfZeroAndNamesTheAddress) {
  const auto range = AddressRange::make(0x1000, 0);
  ASSERT_FALSE(range);
  EXPECT_EQ(range.error().code(), ErrorCode::invalid_argument);
  EXPECT_NE(range.error().message().find("0x1000"), std::string::npos);
}

TEST(AddressRange, RefusesARangeThatWraps) {
  const auto range = AddressRange::make(last_address, 2);
  ASSERT_FALSE(range);
  EXPECT_EQ(range.error().code(), ErrorCode::invalid_argument);
  EXPECT_NE(range.error().message().find("wraps"), std::string::npos);
}

TEST(AddressRange, AcceptsTheLastByteOfTheAddressSpace) {
  const auto range = AddressRange::make(last_address, 1);
  ASSERT_TRUE(range);
  EXPECT_EQ(range->end(), 0U);
  EXPECT_TRUE(range->contains(last_address, 1));
  EXPECT_FALSE(range->contains(last_address, 2));
  EXPECT_FALSE(range->contains(0, 1));
}

TEST(AddressRange, AcceptsTheWholeAddressSpaceButOneByte) {
  EXPECT_TRUE(AddressRange::make(0, last_address));
  EXPECT_TRUE(AddressRange::make(1, last_address));
  EXPECT_FALSE(AddressRange::make(2, last_address));
}

TEST(AddressRange, ContainsItselfAndItsParts) {
  const auto range = AddressRange::make(1000, 100).value();
  EXPECT_TRUE(range.contains(1000, 100));
  EXPECT_TRUE(range.contains(1000, 1));
  EXPECT_TRUE(range.contains(1099, 1));
}

TEST(AddressRange, DoesNotContainWhatSticksOut) {
  const auto range = AddressRange::make(1000, 100).value();
  EXPECT_FALSE(range.contains(999, 1));
  EXPECT_FALSE(range.contains(999, 2));
  EXPECT_FALSE(range.contains(1000, 101));
  EXPECT_FALSE(range.contains(1099, 2));
  EXPECT_FALSE(range.contains(1100, 1));
}

TEST(AddressRange, DoesNotContainALengthThatWraps) {
  const auto range = AddressRange::make(1000, 100).value();
  EXPECT_FALSE(range.contains(1050, last_address));
  EXPECT_FALSE(range.contains(1050, last_address - 1049));
  EXPECT_FALSE(range.contains(last_address, 1101));
}

TEST(AddressRange, ContainsALengthOfZeroUpToItsEnd) {
  const auto range = AddressRange::make(1000, 100).value();
  EXPECT_TRUE(range.contains(1000, 0));
  EXPECT_TRUE(range.contains(1100, 0));
  EXPECT_FALSE(range.contains(1101, 0));
  EXPECT_FALSE(range.contains(999, 0));
}

TEST(Within, NeverWraps) {
  EXPECT_TRUE(within(0, 0, 0));
  EXPECT_TRUE(within(5, 5, 10));
  EXPECT_FALSE(within(5, 6, 10));
  EXPECT_FALSE(within(11, 0, 10));
  EXPECT_FALSE(within(1, last_address, 10));
  EXPECT_FALSE(within(last_address, 2, 10));
  EXPECT_TRUE(within(1, last_address - 1, last_address));
}

}  // namespace
}  // namespace danaus::memory
