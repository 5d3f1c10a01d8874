#include "tools/quantity.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace danaus::tools {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

TEST(Size, IsAWholeNumberOfBytesAloneOrWithABinaryUnit) {
  EXPECT_EQ(parse_size("0"), 0U);
  EXPECT_EQ(parse_size("65536"), 65536U);
  EXPECT_EQ(parse_size("3KiB"), 3072U);
  EXPECT_EQ(parse_size("64MiB"), 64ULL << 20U);
  EXPECT_EQ(parse_size("5GiB"), 5ULL << 30U);
}

TEST(Size, MayReachTheLargestNumberButNotPassIt) {
  EXPECT_EQ(parse_size("18446744073709551615"), 18446744073709551615ULL);
  EXPECT_EQ(parse_size("17179869183GiB"), 17179869183ULL << 30U);
  for (const char* text : {"18446744073709551616", "17179869184GiB", "99999999999999999999MiB"}) {
    const auto size = parse_size(text);
    ASSERT_FALSE(size) << text;
    EXPECT_THAT(size.error(), HasSubstr("too large"));
  }
}

TEST(Size, WithAnotherUnitNamesTheAcceptedOnes) {
  for (const char* text : {"1MB", "1 MiB", "1mib", "1TiB", "1.5GiB", "7KiBx"}) {
    const auto size = parse_size(text);
    ASSERT_FALSE(size) << text;
    EXPECT_THAT(size.error(), HasSubstr("KiB, MiB or GiB"));
  }
}

TEST(Size, RefusesWhatDoesNotStartWithANumber) {
  for (const char* text : {"", "MiB", "+5", " 5", "x"}) {
    const auto size = parse_size(text);
    ASSERT_FALSE(size) << text;
    EXPECT_THAT(size.error(), HasSubstr("does not start with a number"));
  }
}

TEST(Size, RefusesNegativeNumbersAsSuch) {
  EXPECT_THAT(parse_size("-1MiB").error(), HasSubstr("negative"));
}

TEST(Duration, IsAWholeNumberOfMillisecondsOrSeconds) {
  EXPECT_EQ(parse_duration("250ms"), milliseconds{250});
  EXPECT_EQ(parse_duration("5s"), milliseconds{5000});
}

TEST(Duration, NeedsItsUnit) {
  const auto duration = parse_duration("5");
  ASSERT_FALSE(duration);
  EXPECT_THAT(duration.error(), HasSubstr("the unit is missing"));
  EXPECT_THAT(duration.error(), HasSubstr("ms or s"));
}

TEST(Duration, WithAnotherUnitNamesTheAcceptedOnes) {
  for (const char* text : {"5m", "5min", "5sec", "1.5s", "5 s"}) {
    const auto duration = parse_duration(text);
    ASSERT_FALSE(duration) << text;
    EXPECT_THAT(duration.error(), HasSubstr("ms or s"));
  }
}

TEST(Duration, FitsTheTimeoutOfARequest) {
  EXPECT_EQ(parse_duration("4294967295ms"), milliseconds{4294967295});
  EXPECT_THAT(parse_duration("4294967296ms").error(), HasSubstr("too large"));
  EXPECT_THAT(parse_duration("4294968s").error(), HasSubstr("too large"));
}

TEST(Duration, IsNeverZeroOrNegative) {
  EXPECT_THAT(parse_duration("0s").error(), HasSubstr("at least 1ms"));
  EXPECT_THAT(parse_duration("-5s").error(), HasSubstr("negative"));
}

TEST(Size, IsWrittenWithTheLargestUnitThatItReaches) {
  EXPECT_EQ(format_size(0), "0 B");
  EXPECT_EQ(format_size(1023), "1023 B");
  EXPECT_EQ(format_size(64ULL << 20U), "64 MiB");
  EXPECT_EQ(format_size(3ULL << 29U), "1.5 GiB");
}

}  // namespace
}  // namespace danaus::tools
