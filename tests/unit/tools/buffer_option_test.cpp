#include "tools/buffer_option.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tools/exit_code.hpp"

namespace danaus::tools {
namespace {

using testing::HasSubstr;

std::string refusal(const std::vector<std::string>& texts) {
  try {
    (void)parse_buffer_options(texts);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(BufferOption, IsANameAndASize) {
  const auto options = parse_buffer_options({"weights=64MiB", "kv.cache-0=1"});
  ASSERT_EQ(options.size(), 2U);
  EXPECT_EQ(options[0].name, "weights");
  EXPECT_EQ(options[0].size, 64ULL << 20U);
  EXPECT_EQ(options[1].name, "kv.cache-0");
  EXPECT_EQ(options[1].size, 1U);
}

TEST(BufferOption, NeedsBothParts) {
  EXPECT_THAT(refusal({"weights"}), HasSubstr("NAME=SIZE"));
  EXPECT_THAT(refusal({"=1MiB"}), HasSubstr("name"));
  EXPECT_THAT(refusal({"weights="}), HasSubstr("weights"));
}

TEST(BufferOption, HasANameThatCanStandInAReference) {
  EXPECT_THAT(refusal({"a/b=1MiB"}), HasSubstr("a/b"));
  EXPECT_THAT(refusal({"a b=1MiB"}), HasSubstr("letters"));
  EXPECT_THAT(refusal({std::string(201, 'a') + "=1MiB"}), HasSubstr("200"));
}

TEST(BufferOption, IsNeverEmpty) {
  EXPECT_THAT(refusal({"a=0"}), HasSubstr("at least 1 byte"));
}

TEST(BufferOption, IsGivenOnce) {
  EXPECT_THAT(refusal({"a=1MiB", "b=1MiB", "a=2MiB"}), HasSubstr("a is given twice"));
}

}  // namespace
}  // namespace danaus::tools
