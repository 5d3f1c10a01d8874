#include "messages/json.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support.hpp"

namespace danaus::messages {
namespace {

using nlohmann::json;
using test::entry;
using test::expect_error;
using test::hex;
using test::invalid;
using test::text;

json pair_fields() {
  return {{"other", {{"id", "beta"}, {"at", "tcp://h:1"}}},
          {"self_device", "soft0"},
          {"other_device", ""}};
}

json connect_with(const json& endpoint) {
  json fields = pair_fields();
  fields["endpoint"] = {{"qp_num", 1}, {"lid", 0}, {"psn", 2}};
  fields["endpoint"].update(endpoint);
  return fields;
}

TEST(ToJson, ShowsBinaryAsHexAndNumbersAsNumbers) {
  const auto value = to_json(hex("94c40201ffcfffffffffffffffffffcb3fe0000000000000"));
  ASSERT_TRUE(value) << value.error().message();
  EXPECT_EQ(*value, json::parse(R"(["01ff", 18446744073709551615, -1, 0.5])"));
}

TEST(ToJson, ReplacesWhatIsNotUtf8SoThatItCanBePrinted) {
  const auto value = to_json(hex("a361ff62"));
  ASSERT_TRUE(value);
  EXPECT_EQ(value->dump(),
            "\"a\xEF\xBF\xBD"
            "b\"");
}

TEST(ToJson, RefusesWhatIsMalformed) {
  expect_error(to_json(hex("c1")), ErrorCode::malformed, "not MessagePack");
}

TEST(ToJson, ShowsAReply) {
  EXPECT_EQ(to_json(ReplyBody{encode(true)}), json::parse(R"({"Ok": true})"));
  EXPECT_EQ(
      to_json(ReplyBody{std::unexpect, Error{ErrorCode::busy, "full", {{"limit", "4"}}}}),
      json::parse(R"({"Err": {"code": "Busy", "message": "full", "details": {"limit": "4"}}})"));
}

TEST(MessageFromJson, TakesTheFieldsInAnyOrder) {
  const auto message = message_from_json("RequestBuffer", json::parse(R"({"size":2,"addr":1})"));
  EXPECT_EQ(message, (Message{ManagerMessage{RequestBuffer{.addr = 1, .size = 2}}}));
}

TEST(MessageFromJson, TakesEveryU64) {
  const auto message =
      message_from_json("RequestBuffer", json::parse(R"({"size":18446744073709551615,"addr":0})"));
  ASSERT_TRUE(message) << message.error().message();
  EXPECT_EQ(std::get<RequestBuffer>(std::get<ManagerMessage>(*message)).size, ~std::uint64_t{0});
}

TEST(MessageFromJson, TakesNullAndAnEmptyObjectForAMessageWithoutFields) {
  EXPECT_TRUE(message_from_json("ListDevices", nullptr));
  EXPECT_TRUE(message_from_json("ListDevices", json::object()));
  expect_error(message_from_json("ListDevices", {{"all", true}}), invalid, "fields: none");
}

TEST(MessageFromJson, AnUnknownNameListsTheNames) {
  const auto result = message_from_json("ListDevice", nullptr);
  expect_error(result, ErrorCode::unknown_message, "no message 'ListDevice'");
  expect_error(result, ErrorCode::unknown_message, "ListDevices, ListBuffers");
}

TEST(MessageFromJson, AnUnknownFieldListsTheFields) {
  const auto result = message_from_json("RequestBuffer", {{"addr", 1}, {"length", 2}});
  expect_error(result, invalid, "RequestBuffer: there is no field 'length'");
  expect_error(result, invalid, "addr (u64), size (u64)");
}

TEST(MessageFromJson, AnUnknownNestedFieldNamesItsPath) {
  expect_error(message_from_json("Connect", connect_with({{"mtus", 4096}})), invalid,
               "Connect.endpoint: there is no field 'mtus'; fields: qp_num (u32), lid (u16), "
               "gid? (bin)");
}

TEST(MessageFromJson, AMissingFieldListsTheFields) {
  expect_error(message_from_json("RequestBuffer", json::object()), invalid,
               "RequestBuffer: missing addr, size; fields: addr (u64), size (u64)");
  json fields = pair_fields();
  fields["other"].erase("id");
  expect_error(message_from_json("GetQpState", fields), invalid, "GetQpState.other: missing id");
}

TEST(MessageFromJson, AnIntegerIsNeitherNegativeNorAFloatNorText) {
  const auto with_size = [](const json& size) {
    return message_from_json("RequestBuffer", {{"addr", 1}, {"size", size}});
  };
  expect_error(with_size(-1), invalid,
               "RequestBuffer.size: expected an unsigned integer, got the "
               "integer -1");
  expect_error(with_size(2.0), invalid, "got the float 2.0");
  expect_error(with_size(1e30), invalid, "got the float");
  expect_error(with_size("2"), invalid, "got a string");
  expect_error(with_size(true), invalid, "got a boolean");
  expect_error(with_size(nullptr), invalid, "got null");
  expect_error(with_size(json::array()), invalid, "got an array");
}

TEST(MessageFromJson, ANumberBeyondU64IsAFloatToJsonAndRefused) {
  expect_error(
      message_from_json("RequestBuffer", json::parse(R"({"addr":18446744073709551616,"size":1})")),
      invalid, "RequestBuffer.addr");
}

TEST(MessageFromJson, ANumberBeyondItsTypeIsRefused) {
  expect_error(message_from_json("Connect", connect_with({{"lid", 65'536}})), invalid,
               "Connect.endpoint.lid: 65536 is too large; a u16 is at most 65535");
}

TEST(MessageFromJson, BinaryIsHexOfItsLength) {
  const auto with_gid = [](const json& gid) {
    return message_from_json("Connect", connect_with({{"gid", gid}}));
  };
  EXPECT_TRUE(with_gid("00000000000000000000ffff0a000001"));
  EXPECT_TRUE(with_gid("00000000000000000000FFFF0A000001"));
  EXPECT_TRUE(with_gid(nullptr));
  for (const json& gid : {json{"00"}, json{std::string(32, 'g')}, json{std::string(31, '0')}}) {
    expect_error(with_gid(gid), invalid,
                 "Connect.endpoint.gid: expected a string of 32 hexadecimal digits");
  }
}

TEST(MessageFromJson, FieldsAreAnObject) {
  expect_error(
      message_from_json("RequestBuffer", json::array({1, 2})), invalid,
      "RequestBuffer: expected a map with the fields addr (u64), size (u64), got an array");
  expect_error(message_from_json("RequestBuffer", nullptr), invalid, "got null");
}

}  // namespace
}  // namespace danaus::messages
