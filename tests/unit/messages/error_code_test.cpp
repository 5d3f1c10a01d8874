#include "messages/error_code.hpp"

#include <gtest/gtest.h>

#include <set>

#include "messages/envelope.hpp"

namespace danaus {
namespace {

TEST(ErrorCode, EveryCodeRoundTripsThroughItsName) {
  for (const ErrorCode code : all_error_codes()) {
    EXPECT_EQ(error_code_from_string(to_string(code)), code) << to_string(code);
  }
}

TEST(ErrorCode, NoTwoCodesShareAName) {
  std::set<std::string_view> names;
  for (const ErrorCode code : all_error_codes()) {
    EXPECT_TRUE(names.insert(to_string(code)).second) << to_string(code);
  }
  EXPECT_EQ(names.size(), 41U);
}

TEST(ErrorCode, AnUnknownNameIsNoCode) {
  EXPECT_FALSE(error_code_from_string("TooEarly"));
  EXPECT_FALSE(error_code_from_string("malformed"));
  EXPECT_FALSE(error_code_from_string(""));
}

TEST(ErrorCode, EveryCodeRoundTripsThroughAnErrReply) {
  for (const ErrorCode code : all_error_codes()) {
    const messages::ReplyBody reply{
        std::unexpect, Error{code, "what was tried and why it failed", {{"device", "soft0"}}}};
    const auto decoded = messages::decode_reply(messages::encode_reply(reply));
    ASSERT_TRUE(decoded) << to_string(code);
    EXPECT_EQ(*decoded, reply) << to_string(code);
  }
}

TEST(Error, WhatIsItsMessage) {
  const Error error{ErrorCode::busy, "too much in flight"};
  EXPECT_STREQ(error.what(), "too much in flight");
}

}  // namespace
}  // namespace danaus
