// Every message and every value of the wire survives encoding and decoding.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "arbitrary.hpp"
#include "messages/codec.hpp"
#include "messages/envelope.hpp"
#include "messages/json.hpp"

namespace danaus::messages {
namespace {

using test::any;

template <class T>
class Value : public testing::Test {};

using Values =
    testing::Types<Unit, bool, std::uint16_t, std::uint32_t, std::uint64_t, double, std::string,
                   ActorRef, AlternateRegistration, RdmaBuffer, SoftEndpoint, QpInfo,
                   QueuePairDescriptor, DeviceInfo, NamedBuffer, LocalRange, TransferResult,
                   AtomicResult, ConnectPeerResult, QueuePairStats, Stats, std::vector<DeviceInfo>,
                   std::vector<NamedBuffer>, std::map<std::string, std::string>>;
TYPED_TEST_SUITE(Value, Values);

TYPED_TEST(Value, RoundTrips) {
  EXPECT_TRUE(rc::check([] {
    const auto value = any<TypeParam>();
    const auto decoded = decode<TypeParam>(encode(value));
    RC_ASSERT(decoded.has_value());
    RC_ASSERT((*decoded == value));
  }));
}

TYPED_TEST(Value, HasOneEncoding) {
  EXPECT_TRUE(rc::check([] {
    const auto encoded = encode(any<TypeParam>());
    RC_ASSERT((encode(decode<TypeParam>(encoded).value()) == encoded));
  }));
}

template <class Variant>
struct TypesOf;
template <class... M>
struct TypesOf<std::variant<M...>> {
  using Types = testing::Types<M...>;
};
template <class M>
class AManagerMessage : public testing::Test {};
TYPED_TEST_SUITE(AManagerMessage, TypesOf<ManagerMessage>::Types);
template <class M>
class AServiceMessage : public testing::Test {};
TYPED_TEST_SUITE(AServiceMessage, TypesOf<ServiceMessage>::Types);

template <class Enum, class M>
void expect_message_round_trips() {
  EXPECT_TRUE(rc::check([] {
    const Message message{Enum{any<M>()}};
    const auto decoded = decode_message(encode_message(message));
    RC_ASSERT(decoded.has_value());
    RC_ASSERT((*decoded == message));
    RC_ASSERT((message_name(*decoded) == M::name));
  }));
}

template <class Enum, class M>
void expect_json_round_trips() {
  EXPECT_TRUE(rc::check([] {
    const Message message{Enum{any<M>()}};
    const nlohmann::json printed = to_json(message);
    RC_ASSERT((printed.size() == 1U));
    const auto read = message_from_json(M::name, printed.at(std::string{M::name}));
    // Strings that are not UTF-8 cannot survive JSON; what they became does.
    RC_ASSERT(read.has_value());
    RC_ASSERT((to_json(*read) == printed));
  }));
}

TYPED_TEST(AManagerMessage, RoundTrips) {
  expect_message_round_trips<ManagerMessage, TypeParam>();
}
TYPED_TEST(AServiceMessage, RoundTrips) {
  expect_message_round_trips<ServiceMessage, TypeParam>();
}
TYPED_TEST(AManagerMessage, RoundTripsThroughJson) {
  expect_json_round_trips<ManagerMessage, TypeParam>();
}
TYPED_TEST(AServiceMessage, RoundTripsThroughJson) {
  expect_json_round_trips<ServiceMessage, TypeParam>();
}

TEST(Headers, RoundTrip) {
  EXPECT_TRUE(rc::check([] {
    Header header;
    header.kind = *rc::gen::element(Kind::request, Kind::reply, Kind::cast);
    header.id = any<std::uint64_t>();
    header.to = any<Addressee>();
    header.from = any<Sender>();
    header.from.id = *rc::gen::nonEmpty(rc::gen::container<std::string>(
        rc::gen::oneOf(rc::gen::inRange('a', static_cast<char>('z' + 1)),
                       rc::gen::element('A', 'Z', '0', '9', '.', '_', '-'))));
    header.timeout_ms = any<std::optional<std::uint32_t>>();
    const auto decoded = decode_header(encode_header(header));
    RC_ASSERT(decoded.has_value());
    RC_ASSERT((*decoded == header));
  }));
}

TEST(Replies, RoundTripWithAnyError) {
  EXPECT_TRUE(rc::check([] {
    const auto codes = all_error_codes();
    const auto index = *rc::gen::inRange<std::size_t>(0, codes.size());
    const ReplyBody reply{std::unexpect,
                          Error{codes[index], any<std::string>(), any<Error::Details>()}};
    RC_ASSERT((decode_reply(encode_reply(reply)).value() == reply));
  }));
}

}  // namespace
}  // namespace danaus::messages
