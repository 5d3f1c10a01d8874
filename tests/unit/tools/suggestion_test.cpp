#include "tools/suggestion.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>

namespace danaus::tools {
namespace {

constexpr std::array<std::string_view, 3> names{"RequestBuffer", "ReleaseBuffer", "GetQpState"};

TEST(Suggestion, FindsTheNameBehindATypingError) {
  EXPECT_EQ(nearest("RequestBufer", names), "RequestBuffer");
  EXPECT_EQ(nearest("getqpstate", names), "GetQpState");
  EXPECT_EQ(nearest("GetQPStates", names), "GetQpState");
}

TEST(Suggestion, IsSilentWhereNothingIsNear) {
  EXPECT_EQ(nearest("Frobnicate", names), "");
  EXPECT_EQ(nearest("", names), "");
  EXPECT_EQ(nearest(std::string(100'000, 'x'), names), "");
}

TEST(Suggestion, NeverReplacesEveryLetter) {
  constexpr std::array<std::string_view, 1> shortest{"op"};
  EXPECT_EQ(nearest("xy", shortest), "");
  EXPECT_EQ(nearest("po", shortest), "");
  EXPECT_EQ(nearest("opp", shortest), "op");
}

TEST(Suggestion, ReadsAsTheEndOfASentence) {
  EXPECT_EQ(did_you_mean("RequestBufer", names), "; did you mean \"RequestBuffer\"?");
  EXPECT_EQ(did_you_mean("Frobnicate", names), "");
}

}  // namespace
}  // namespace danaus::tools
