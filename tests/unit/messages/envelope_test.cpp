#include "messages/envelope.hpp"

#include <gtest/gtest.h>

#include "messages/message.hpp"
#include "support.hpp"

namespace danaus::messages {
namespace {

using test::entry;
using test::expect_error;
using test::hex;
using test::malformed;
using test::text;

Header header() {
  Header header;
  header.id = 7;
  header.to.id = "beta";
  header.from.id = "alpha";
  header.from.at = "tcp://127.0.0.1:7001";
  return header;
}

/// The header with one field's value replaced by what is given in hex.
Bytes header_with(std::string_view field, std::string_view value) {
  const std::string from = "82" + text("id") + text("alpha") + text("at") + text("");
  std::map<std::string_view, std::string> fields{{"version", "01"},
                                                 {"kind", text("request")},
                                                 {"id", "07"},
                                                 {"to", entry("id", text("beta"))},
                                                 {"from", from}};
  fields[field] = value;
  std::string encoded = to_hex(std::array{static_cast<std::byte>(0x80U | fields.size())});
  for (const auto& [name, bytes] : fields) {
    encoded += text(name) + bytes;
  }
  return hex(encoded);
}

TEST(Header, RoundTripsWithAndWithoutItsOptionalFields) {
  Header full = header();
  EXPECT_EQ(decode_header(encode_header(full)).value(), full);
  full.kind = Kind::cast;
  full.to.incarnation = random_bytes<16>();
  full.from.incarnation = random_bytes<16>();
  full.timeout_ms = 0;
  EXPECT_EQ(decode_header(encode_header(full)).value(), full);
}

TEST(Header, ARefusedOneKeepsWhatIsNeededToAnswer) {
  const auto refused = decode_header(header_with("to", "01"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().error.code(), malformed);
  EXPECT_EQ(refused.error().error.message(),
            "header.to: expected a map with the fields id "
            "(string), incarnation? (bin), got an unsigned "
            "integer");
  EXPECT_EQ(refused.error().id, 7U);
  EXPECT_EQ(refused.error().kind, Kind::request);
  EXPECT_EQ(refused.error().from, "alpha");
}

TEST(Header, AnotherVersionIsRefusedBeforeAnythingElseIsLookedAt) {
  const auto refused = decode_header(
      hex("83" + text("version") + "02" + text("id") + "2a" + text("kind") + text("shout")));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().error.code(), ErrorCode::unsupported_version);
  EXPECT_EQ(refused.error().error.details(), (Error::Details{{"supported", "1"}}));
  EXPECT_EQ(refused.error().id, 42U);
  EXPECT_FALSE(refused.error().kind);
}

TEST(Header, AVersionBeyond32BitsIsAnotherVersion) {
  const auto refused = decode_header(header_with("version", "cf0000000100000001"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().error.code(), ErrorCode::unsupported_version);
}

TEST(Header, AnUnknownKindIsMalformedAndKeepsTheId) {
  const auto refused = decode_header(header_with("kind", text("query")));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().error.code(), malformed);
  EXPECT_EQ(refused.error().error.message(),
            "header.kind: expected request, reply or cast, got 'query'");
  EXPECT_EQ(refused.error().id, 7U);
  EXPECT_FALSE(refused.error().kind);
}

TEST(Header, AnIdThatIsNoneIsNotSalvaged) {
  const auto refused = decode_header(header_with("id", "ff"));
  ASSERT_FALSE(refused);
  EXPECT_FALSE(refused.error().id);
  EXPECT_EQ(refused.error().from, "alpha");
}

TEST(Header, ASenderWhoseIdentityIsNoneIsRefusedAndNamed) {
  const auto refused = decode_header(header_with("from", entry("id", text("a b"))));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().error.code(), malformed);
  EXPECT_EQ(refused.error().from, "a b");
}

TEST(Header, NothingIsSalvagedFromWhatIsNotMessagePack) {
  const auto refused = decode_header(hex("c1"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().error.code(), malformed);
  EXPECT_FALSE(refused.error().id);
  EXPECT_FALSE(refused.error().kind);
  EXPECT_EQ(refused.error().from, "");
}

TEST(Kind, RoundTripsThroughItsName) {
  for (const Kind kind : {Kind::request, Kind::reply, Kind::cast}) {
    EXPECT_EQ(kind_from_string(to_string(kind)), kind);
  }
  EXPECT_FALSE(kind_from_string("Request"));
}

TEST(Reply, CarriesTheEncodedValue) {
  const auto part = encode_reply(encode(std::uint32_t{3}));
  EXPECT_EQ(to_hex(part), entry("Ok", "03"));
  EXPECT_EQ(decode_reply(part).value().value(), hex("03"));
}

TEST(Reply, KeepsTheValueAsItCame) {
  // Wider than needed, in a wide map under a wide key: the value's own bytes stay.
  for (const std::string head :
       {"81a24f6b", "81d9024f6b", "de0001a24f6b", "df00000001da00024f6b"}) {
    const auto reply = decode_reply(hex(head + "cd0003"));
    ASSERT_TRUE(reply) << reply.error().message();
    EXPECT_EQ(reply->value(), hex("cd0003")) << head;
  }
}

TEST(Reply, CarriesAnErrorWithItsDetails) {
  const Error error{ErrorCode::unknown_device, "there is no device 'x'", {{"known", "soft0"}}};
  const auto reply = decode_reply(encode_reply(std::unexpected{error}));
  ASSERT_TRUE(reply);
  ASSERT_FALSE(reply->has_value());
  EXPECT_EQ(reply->error(), error);
}

TEST(Reply, AnUnknownCodeIsInternalAndKeepsItsName) {
  const auto reply = decode_reply(
      hex(entry("Err", "82" + text("code") + text("TooEarly") + text("message") + text("m"))));
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->error(), (Error{ErrorCode::internal, "m", {{"code", "TooEarly"}}}));
}

TEST(Reply, IsOkOrErrAndNothingElse) {
  expect_error(decode_reply(hex("c0")), malformed, "one entry, Ok or Err; got nil");
  expect_error(decode_reply(hex(entry("Fine", "01"))), malformed, "Ok or Err");
  expect_error(decode_reply(hex("80")), malformed, "Ok or Err");
  expect_error(decode_reply(hex("82" + text("Ok") + "01" + text("Err") + "01")), malformed,
               "Ok or Err");
  expect_error(decode_reply(hex(entry("Err", "01"))), malformed, "Err: expected a map");
}

TEST(Reply, OneThatThePeerWouldRefuseIsAnErrorInstead) {
  const auto too_large = encode_reply(encode(std::string(max_part_size, 'x')));
  const auto reply = decode_reply(too_large);
  ASSERT_TRUE(reply);
  ASSERT_FALSE(reply->has_value());
  EXPECT_EQ(reply->error().code(), ErrorCode::resource_exhausted);

  const auto too_many = encode_reply(encode(std::vector<std::string>(max_values)));
  EXPECT_EQ(decode_reply(too_many).value().error().code(), ErrorCode::resource_exhausted);
}

TEST(Reply, AnErrorWhoseTextIsTooLongIsCutSoThatItArrives) {
  const Error error{ErrorCode::busy, std::string(2 * max_part_size, 'x'), {{"device", "soft0"}}};
  const auto reply = decode_reply(encode_reply(std::unexpected{error}));
  ASSERT_TRUE(reply) << reply.error().message();
  EXPECT_EQ(reply->error().code(), ErrorCode::busy);
  EXPECT_TRUE(reply->error().message().starts_with("xxxx"));
}

}  // namespace
}  // namespace danaus::messages
