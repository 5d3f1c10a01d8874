// What a hostile peer may send: refused, with nothing large allocated and nothing thrown.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <nlohmann/json.hpp>

#include "allocation_watch.hpp"
#include "messages/envelope.hpp"
#include "messages/json.hpp"
#include "support.hpp"

namespace danaus::messages {
namespace {

using test::entry;
using test::expect_error;
using test::hex;
using test::largest_allocation;
using test::malformed;
using test::text;

/// Every decoder on the same bytes. Nothing may be thrown.
void decode_as_everything(std::span<const std::byte> bytes) {
  static_cast<void>(decode_header(bytes));
  static_cast<void>(decode_message(bytes));
  static_cast<void>(decode_reply(bytes));
  static_cast<void>(decode<Stats>(bytes));
  static_cast<void>(decode<std::vector<NamedBuffer>>(bytes));
  static_cast<void>(to_json(bytes));
}

std::string repeated(std::string_view digits, std::size_t count) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) {
    all += digits;
  }
  return all;
}

TEST(HostileInput, AllocationsAreSeenByThisTest) {
  largest_allocation = 0;
  EXPECT_TRUE(decode<std::string>(encode(std::string(500'000, 'x'))));
  EXPECT_GE(largest_allocation, 500'000U);
}

class DeclaredLength : public testing::TestWithParam<std::string> {};

TEST_P(DeclaredLength, IsRefusedWithoutALargeAllocation) {
  const Bytes alone = hex(GetParam());
  const Bytes nested = hex(entry("ListDevices", entry("x", GetParam())));
  constexpr std::size_t modest = std::size_t{64} << 10U;

  largest_allocation = 0;
  decode_as_everything(alone);
  decode_as_everything(nested);
  EXPECT_LT(largest_allocation, modest);

  expect_error(decode_message(alone), malformed, "refused");
  expect_error(decode_message(nested), malformed, "refused");
}

INSTANTIATE_TEST_SUITE_P(OfEachKind, DeclaredLength,
                         testing::Values("ddffffffff", "dfffffffff", "dbffffffff", "c6ffffffff",
                                         "c9ffffffff05", "dcffff", "deffff", "daffff", "c5ffff",
                                         "dd00010000", "df00008000", "9f", "8f", "bf"));

TEST(HostileInput, NestingIsBounded) {
  const auto nested = [](std::size_t depth) { return hex(repeated("91", depth) + "c0"); };
  EXPECT_TRUE(to_json(nested(max_depth)));
  expect_error(to_json(nested(max_depth + 1)), malformed, "deeper than 16");
  expect_error(to_json(nested(1000)), malformed, "deeper than 16");
  expect_error(to_json(nested(1'000'000)), malformed, "deeper than 16");
  expect_error(to_json(hex(repeated("81a178", 1000) + "c0")), malformed, "deeper than 16");
}

TEST(HostileInput, TheNumberOfValuesIsBounded) {
  // array 32 of nils: the array counts as one value.
  const auto list = [](std::uint32_t size) {
    Bytes bytes = hex("dd");
    for (const unsigned shift : {24U, 16U, 8U, 0U}) {
      bytes.push_back(static_cast<std::byte>((size >> shift) & 0xFFU));
    }
    bytes.resize(bytes.size() + size, std::byte{0xC0});
    return bytes;
  };
  EXPECT_TRUE(to_json(list(max_values - 1)));
  expect_error(to_json(list(max_values)), malformed, "more than 65536 values");
}

TEST(HostileInput, TheNumberOfValuesIsBoundedOverAllContainers) {
  // 15 lists of 5,000 values each.
  const std::string list = "dc1388" + repeated("c0", 5000);
  EXPECT_TRUE(to_json(hex("9d" + repeated(list, 13))));
  expect_error(to_json(hex("9f" + repeated(list, 15))), malformed, "more than 65536 values");
}

TEST(HostileInput, TheSizeOfAPartIsBounded) {
  const auto part = [](std::size_t size) {
    Bytes bytes = encode(std::string(size - 5, 'x'));  // str 32: five bytes before the text
    EXPECT_EQ(bytes.size(), size);
    return bytes;
  };
  EXPECT_TRUE(decode<std::string>(part(max_part_size)));
  expect_error(decode<std::string>(part(max_part_size + 1)), malformed, "at most 1048576");
}

TEST(HostileInput, OneValueAndNothingBehindIt) {
  expect_error(decode<Unit>({}), malformed, "empty");
  expect_error(decode<Unit>(hex("c0c0")), malformed, "ends at byte 1 and more follows");
  expect_error(decode<Unit>(hex("c000")), malformed, "more follows");
  expect_error(decode_message(hex(entry("ListDevices", "80") + "80")), malformed, "more follows");
}

TEST(HostileInput, KeysAreStrings) {
  for (const std::string key : {"01", "ff", "c0", "c3", "ca00000000", "c40161", "90", "80"}) {
    expect_error(to_json(hex("81" + key + "01")), malformed, "key in it is not a string");
  }
}

TEST(HostileInput, AKeyMayNotComeTwiceAtAnyDepth) {
  const std::string twice = "83" + text("a") + "01" + text("b") + "01" + text("a") + "02";
  expect_error(to_json(hex(twice)), malformed, "the key 'a' twice");
  expect_error(to_json(hex("9201" + entry("x", twice))), malformed, "the key 'a' twice");
  EXPECT_TRUE(to_json(hex("82" + text("a") + "01" + text("A") + "01")));
}

TEST(HostileInput, ExtValuesAndTheUnusedByteAreRefused) {
  for (const std::string ext :
       {"d40500", "d5050000", "d80500000000000000000000000000000000", "c7010500", "c7000500"}) {
    expect_error(to_json(hex(ext)), malformed, "ext value");
  }
  expect_error(to_json(hex("c1")), malformed, "not MessagePack at byte 0");
  expect_error(to_json(hex("92c0c1")), malformed, "not MessagePack");
}

TEST(HostileInput, WhatIsQuotedInAnErrorIsCutAndPrintable) {
  const Bytes name = encode(std::string(10'000, '\x1b'));
  Bytes message = hex("81");
  message.insert(message.end(), name.begin(), name.end());
  message.push_back(std::byte{0x80});
  const auto result = decode_message(message);
  expect_error(result, ErrorCode::unknown_message, "\\x1b");
  EXPECT_EQ(result.error().message().find('\x1b'), std::string::npos);
  EXPECT_LT(result.error().message().size(), 1000U);
}

TEST(HostileInput, AKeyInAPathIsQuotedToo) {
  using Map = std::map<std::string, std::string>;
  const auto result = decode<Map>(hex(entry("\x1b[31m", "01")));
  expect_error(result, malformed, "expected a string");
  EXPECT_EQ(result.error().message().find('\x1b'), std::string::npos);
}

TEST(HostileInput, RandomBytesNeverThrow) {
  EXPECT_TRUE(rc::check([](const std::vector<std::uint8_t>& values) {
    decode_as_everything(std::as_bytes(std::span{values}));
  }));
}

TEST(HostileInput, ChangedBytesOfAGoodMessageNeverThrow) {
  Stats stats;
  stats.self = {"alpha", "tcp://h:1"};
  stats.queue_pairs.resize(2);
  stats.counters["mailbox.requests"] = 5;
  const Bytes good = encode_reply(encode(stats));
  EXPECT_TRUE(
      rc::check([&good](const std::vector<std::pair<std::uint16_t, std::uint8_t>>& changes) {
        Bytes bytes = good;
        for (const auto& [position, value] : changes) {
          bytes[position % bytes.size()] = std::byte{value};
        }
        decode_as_everything(bytes);
        const auto reply = decode_reply(bytes);
        if (reply && reply->has_value()) {
          static_cast<void>(decode<Stats>(reply->value()));
        }
      }));
}

}  // namespace
}  // namespace danaus::messages
