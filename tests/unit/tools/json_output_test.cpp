#include "tools/json_output.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "messages/codec.hpp"
#include "messages/values.hpp"

namespace danaus::tools {
namespace {

TEST(JsonLine, IsAsciiWhateverTheNames) {
  EXPECT_EQ(to_line({{"name", "\x1b[2J\x7f\xc2\x9b\xff\n"}}),
            R"({"name":"\u001b[2J\u007f\u009b\ufffd\n"})");
}

TEST(JsonLine, KeepsLargeNumbersExact) {
  EXPECT_EQ(to_line({{"rkey", 18446744073709551615ULL}}), R"({"rkey":18446744073709551615})");
}

TEST(JsonLine, ShowsAnyValueOfTheWire) {
  const std::vector<messages::DeviceInfo> devices{{.name = "soft0",
                                                   .transport = "soft",
                                                   .port = 1,
                                                   .usable = true,
                                                   .reason = "",
                                                   .attributes = {{"a", "b"}}}};
  EXPECT_EQ(
      to_line(decode_to_json(messages::encode(devices))),
      R"([{"attributes":{"a":"b"},"name":"soft0","port":1,"reason":"","transport":"soft","usable":true}])");
}

TEST(JsonLine, RefusesWhatIsNotOfTheWire) {
  const std::vector<std::byte> broken{std::byte{0xC1}};
  EXPECT_THROW((void)decode_to_json(broken), Error);
}

}  // namespace
}  // namespace danaus::tools
