#include "messages/bytes.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "support.hpp"

namespace danaus::messages {
namespace {

using test::hex;

TEST(Hex, IsLowerCaseAndKeepsLeadingZeros) {
  const Bytes bytes{std::byte{0}, std::byte{0x0A}, std::byte{0xFF}};
  EXPECT_EQ(to_hex(bytes), "000aff");
  EXPECT_EQ(to_hex({}), "");
}

TEST(Hex, IsReadInEitherCase) {
  EXPECT_EQ(from_hex("00aAfF"), (Bytes{std::byte{0}, std::byte{0xAA}, std::byte{0xFF}}));
  EXPECT_EQ(from_hex(""), Bytes{});
}

TEST(Hex, RefusesAnOddLengthAndOtherCharacters) {
  EXPECT_FALSE(from_hex("abc"));
  EXPECT_FALSE(from_hex("0g"));
  EXPECT_FALSE(from_hex("0x"));
  EXPECT_FALSE(from_hex(" 00"));
}

TEST(Hex, RoundTripsAnyBytes) {
  EXPECT_TRUE(rc::check([](const std::vector<std::uint8_t>& values) {
    Bytes bytes(values.size());
    std::ranges::transform(values, bytes.begin(), [](auto value) { return std::byte{value}; });
    RC_ASSERT((from_hex(to_hex(bytes)) == bytes));
  }));
}

TEST(RandomBytes, DifferFromCallToCall) {
  EXPECT_NE(random_bytes<16>(), random_bytes<16>());
  EXPECT_NE(random_u64(), random_u64());
}

TEST(RandomBytes, FillMoreThanOneCallOfTheKernelGives) {
  // getrandom(2) may return short above 256 bytes; no page may stay as it was.
  Bytes bytes(std::size_t{1} << 16U, std::byte{0});
  fill_random(bytes);
  for (std::size_t start = 0; start < bytes.size(); start += 4096) {
    const auto page = std::span{bytes}.subspan(start, 4096);
    EXPECT_TRUE(std::ranges::any_of(page, [](std::byte byte) { return byte != std::byte{0}; }));
  }
}

TEST(ConstantTimeComparison, TellsEqualFromDifferent) {
  EXPECT_TRUE(equal_in_constant_time(hex("0102"), hex("0102")));
  EXPECT_TRUE(equal_in_constant_time({}, {}));
  EXPECT_FALSE(equal_in_constant_time(hex("0102"), hex("0103")));
  EXPECT_FALSE(equal_in_constant_time(hex("0102"), hex("8102")));
  EXPECT_FALSE(equal_in_constant_time(hex("0102"), hex("010200")));
}

}  // namespace
}  // namespace danaus::messages
