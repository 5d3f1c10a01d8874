// The rules of encoding, one by one, on bytes written by hand.
#include "messages/codec.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support.hpp"

namespace danaus::messages {
namespace {

using test::entry;
using test::expect_error;
using test::hex;
using test::malformed;
using test::text;

std::string request_buffer(const std::string& addr, const std::string& size) {
  return entry("RequestBuffer", "82" + text("addr") + addr + text("size") + size);
}

TEST(Encoding, AMessageIsAMapFromItsNameToItsFieldsInOrder) {
  const Message message{ManagerMessage{RequestBuffer{.addr = 1, .size = 2}}};
  EXPECT_EQ(to_hex(encode_message(message)), request_buffer("01", "02"));
}

TEST(Encoding, AMessageWithoutFieldsHasAnEmptyMap) {
  const Message message{ServiceMessage{ListDevices{}}};
  EXPECT_EQ(to_hex(encode_message(message)), entry("ListDevices", "80"));
}

TEST(Encoding, IntegersTakeTheirShortestForm) {
  EXPECT_EQ(to_hex(encode(std::uint64_t{127})), "7f");
  EXPECT_EQ(to_hex(encode(std::uint64_t{128})), "cc80");
  EXPECT_EQ(to_hex(encode(std::uint64_t{256})), "cd0100");
  EXPECT_EQ(to_hex(encode(std::uint64_t{65'536})), "ce00010000");
  EXPECT_EQ(to_hex(encode(std::numeric_limits<std::uint64_t>::max())), "cfffffffffffffffff");
}

TEST(Encoding, FloatsAreAlways64BitsWide) {
  EXPECT_EQ(to_hex(encode(2.0)), "cb4000000000000000");
  EXPECT_EQ(to_hex(encode(0.0)), "cb0000000000000000");
  EXPECT_EQ(to_hex(encode(-0.25)), "cbbfd0000000000000");
}

TEST(Encoding, AnEmptyOptionalFieldIsLeftOut) {
  QpInfo endpoint;
  endpoint.qp_num = 1;
  const auto encoded = to_hex(encode(endpoint));
  EXPECT_EQ(encoded, "83" + text("qp_num") + "01" + text("lid") + "00" + text("psn") + "00");
}

TEST(Encoding, UnitIsNil) {
  EXPECT_EQ(to_hex(encode(Unit{})), "c0");
}

TEST(Decoding, IntegersAreTakenInAnyWidth) {
  for (const std::string two : {"02", "cc02", "cd0002", "ce00000002", "cf0000000000000002", "d002",
                                "d10002", "d200000002", "d30000000000000002"}) {
    EXPECT_EQ(decode<std::uint16_t>(hex(two)), 2U) << two;
  }
}

TEST(Decoding, AnIntegerBeyondItsTypeIsRefused) {
  EXPECT_EQ(decode<std::uint16_t>(hex("cdffff")), 65'535U);
  expect_error(decode<std::uint16_t>(hex("ce00010000")), malformed, "a u16 is at most 65535");
  expect_error(decode<std::uint32_t>(hex("cf0000000100000000")), malformed, "4294967296");
}

TEST(Decoding, ANegativeIntegerIsRefused) {
  expect_error(decode<std::uint64_t>(hex("ff")), malformed, "got a negative integer");
  expect_error(decode<std::uint64_t>(hex("d3ffffffffffffffff")), malformed, "negative");
}

TEST(Decoding, AFloatIsNoInteger) {
  expect_error(decode<std::uint64_t>(hex("cb4000000000000000")), malformed, "got a float");
}

TEST(Decoding, AnIntegerIsAFloat) {
  EXPECT_EQ(decode<double>(hex("02")), 2.0);
  EXPECT_EQ(decode<double>(hex("ff")), -1.0);
  EXPECT_EQ(decode<double>(hex("ca3e800000")), 0.25);
  EXPECT_EQ(decode<double>(hex("cb3fd0000000000000")), 0.25);
  expect_error(decode<double>(hex("a0")), malformed, "expected a number, got a string");
}

TEST(Decoding, ABooleanIsNoInteger) {
  EXPECT_EQ(decode<bool>(hex("c3")), true);
  EXPECT_EQ(decode<bool>(hex("c2")), false);
  expect_error(decode<bool>(hex("01")), malformed, "expected a boolean");
  expect_error(decode<std::uint32_t>(hex("c3")), malformed, "got a boolean");
}

TEST(Decoding, StringsAndBinaryAreNotEachOther) {
  expect_error(decode<std::string>(hex("c40161")), malformed, "got binary of 1 bytes");
  expect_error(decode<Bytes>(hex("a161")), malformed, "expected binary, got a string");
  EXPECT_EQ(decode<Bytes>(hex("c40161")), hex("61"));
}

TEST(Decoding, AStringNeedNotBeUtf8) {
  EXPECT_EQ(decode<std::string>(hex("a2ff00")), (std::string{"\xff\0", 2}));
}

TEST(Decoding, NilIsTheOnlyUnit) {
  EXPECT_TRUE(decode<Unit>(hex("c0")));
  expect_error(decode<Unit>(hex("80")), malformed, "expected nil, got a map");
}

TEST(Decoding, AMissingFieldIsNamedAndAllAreListed) {
  const auto result = decode_message(hex(entry("RequestBuffer", "81" + text("addr") + "01")));
  expect_error(result, malformed, "RequestBuffer: missing size");
  expect_error(result, malformed, "addr (u64), size (u64)");
}

TEST(Decoding, AnErrorNamesThePathOfTheField) {
  expect_error(decode_message(hex(request_buffer("a178", "02"))), malformed,
               "RequestBuffer.addr: expected an unsigned integer, got a string");

  const auto lookup = entry("LookupBuffer", "81" + text("name") + "01");
  expect_error(decode_message(hex(lookup)), malformed,
               "LookupBuffer.name: expected a string, got an unsigned integer");

  const auto owner = entry("ReleaseBuffer", entry("buffer", entry("owner", entry("id", "01"))));
  expect_error(decode_message(hex(owner)), malformed, "ReleaseBuffer.buffer.owner.id: expected");
}

TEST(Decoding, AnErrorNamesTheElementOfAList) {
  const auto good = to_hex(encode(DeviceInfo{}));
  expect_error(decode<std::vector<DeviceInfo>>(hex("92" + good + "01")), malformed,
               "[1]: expected a map");
  expect_error(decode<std::vector<DeviceInfo>>(hex("80")), malformed, "expected an array");
}

TEST(Decoding, AnErrorNamesTheEntryOfAMap) {
  using Map = std::map<std::string, std::string>;
  expect_error(decode<Map>(hex(entry("device", "01"))), malformed, "device: expected a string");
  EXPECT_EQ(decode<Map>(hex(entry("device", text("soft0")))), (Map{{"device", "soft0"}}));
}

TEST(Decoding, UnknownFieldsArePassedOver) {
  const auto bytes = hex(entry("RequestBuffer", "83" + text("addr") + "01" + text("size") + "02" +
                                                    text("reply") + entry("port", "910c")));
  const auto message = decode_message(bytes);
  ASSERT_TRUE(message) << message.error().message();
  EXPECT_EQ(*message, (Message{ManagerMessage{RequestBuffer{.addr = 1, .size = 2}}}));
}

TEST(Decoding, AMessageWithoutFieldsTakesNilAndAnyMap) {
  const Message expected{ServiceMessage{GetStats{}}};
  EXPECT_EQ(decode_message(hex(entry("GetStats", "c0"))), expected);
  EXPECT_EQ(decode_message(hex(entry("GetStats", "80"))), expected);
  EXPECT_EQ(decode_message(hex(entry("GetStats", entry("verbose", "c3")))), expected);
  expect_error(decode_message(hex(entry("GetStats", "90"))), malformed, "GetStats: expected a map");
}

TEST(Decoding, NilIsAnAbsentOptionalAndNoOtherDefault) {
  const auto qp = "84" + text("qp_num") + "01" + text("lid") + "00" + text("psn") + "00";
  const auto absent = decode<QpInfo>(hex(qp + text("gid") + "c0"));
  ASSERT_TRUE(absent) << absent.error().message();
  EXPECT_FALSE(absent->gid);

  const auto ref = "82" + text("id") + text("a") + text("at");
  expect_error(decode<ActorRef>(hex(ref + "c0")), malformed, "at: expected a string, got nil");
}

TEST(Decoding, AnAbsentFieldKeepsItsDefault) {
  const auto ref = decode<ActorRef>(hex(entry("id", text("a"))));
  EXPECT_EQ(ref, (ActorRef{"a", ""}));
}

TEST(Decoding, FixedBinaryMustHaveItsLength) {
  const auto qp = "84" + text("qp_num") + "01" + text("lid") + "00" + text("psn") + "00";
  const auto gid = [](std::size_t size) {
    return text("gid") + to_hex(encode(Bytes(size, std::byte{7})));
  };
  EXPECT_TRUE(decode<QpInfo>(hex(qp + gid(16))));
  for (const std::size_t size : {0U, 15U, 17U}) {
    expect_error(decode<QpInfo>(hex(qp + gid(size))), malformed,
                 "gid: expected binary of 16 bytes, got binary of " + std::to_string(size));
  }
}

TEST(Decoding, AnUnknownMessageListsTheNames) {
  const auto result = decode_message(hex(entry("DropTables", "80")));
  expect_error(result, ErrorCode::unknown_message, "no message 'DropTables'");
  for (const std::string_view name : all_message_names()) {
    expect_error(result, ErrorCode::unknown_message, name);
  }
}

TEST(Decoding, AMessageIsAMapWithOneEntry) {
  expect_error(decode_message(hex("c0")), malformed, "one entry, its name; got nil");
  expect_error(decode_message(hex("80")), malformed, "got a map with 0 entries");
  expect_error(decode_message(hex(text("ListDevices"))), malformed, "got a string");
}

TEST(Names, AreThoseOfBothEnumsInOrder) {
  const auto names = all_message_names();
  ASSERT_EQ(names.size(), 18U);
  EXPECT_EQ(names[0], "RequestBuffer");
  EXPECT_EQ(names[7], "GetQpState");
  EXPECT_EQ(names[8], "ListDevices");
  EXPECT_EQ(names[17], "ClosePeer");
  EXPECT_EQ(message_name(Message{ManagerMessage{GetQpState{}}}), "GetQpState");
  EXPECT_EQ(message_name(Message{ServiceMessage{ClosePeer{}}}), "ClosePeer");
}

}  // namespace
}  // namespace danaus::messages
