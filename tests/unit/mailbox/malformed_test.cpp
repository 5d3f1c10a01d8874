// What anyone who can reach the port may send: each is counted and refused, the mailbox goes on.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <optional>
#include <string>

#include "harness.hpp"
#include "mailbox/counters.hpp"
#include "messages/codec.hpp"

namespace danaus::mailbox::testing {
namespace {

using namespace std::string_literals;

struct Case {
  std::string name;
  /// What is sent, given whom it is for.
  std::function<Frames(const messages::ActorRef&)> frames;
  /// Which counter moves.
  std::string counter;
  /// The error that is answered; nothing: dropped in silence.
  std::optional<ErrorCode> answer;
};

constexpr std::uint64_t bad_id = 1;
constexpr std::uint64_t good_id = 2;

messages::Header bad_request(const messages::ActorRef& to) {
  return raw_request(to, bad_id);
}

Frames request_with_body(const messages::ActorRef& to, std::string body) {
  return {encode(bad_request(to)), std::move(body)};
}

Frames request_from(const messages::ActorRef& to, const std::string& identity) {
  messages::Header header = bad_request(to);
  header.from.id = identity;
  return {encode(header), encode_body(numbered(1))};
}

Frames of_kind(const messages::ActorRef& to, messages::Kind kind, std::string body) {
  messages::Header header = bad_request(to);
  header.kind = kind;
  return {encode(header), std::move(body)};
}

/// The same header with one string in it replaced by another of the same length.
std::string replaced(std::string header, const std::string& from, const std::string& to) {
  return header.replace(header.find(from), from.size(), to);
}

/// {"LookupBuffer": {"name": <value>}}
std::string lookup_of(const std::string& value) {
  return "\x81\xacLookupBuffer\x81\xa4name"s + value;
}

std::vector<Case> cases() {
  const auto nested = std::string(1000, '\x91') + '\xc0';
  const auto good_body = encode_body(numbered(1));
  return {
      {"OneEmptyPart", [](const auto&) { return Frames{""}; }, "malformed_frames", {}},
      {"OnePart",
       [](const auto& to) { return Frames{encode(bad_request(to))}; },
       "malformed_frames",
       {}},
      {"ThreeParts",
       [=](const auto& to) { return Frames{encode(bad_request(to)), good_body, "x"}; },
       "malformed_frames",
       {}},
      {"AThousandParts", [](const auto&) { return Frames(1000, "x"); }, "malformed_frames", {}},
      {"TwentyThousandParts",
       [](const auto&) { return Frames(20'000, "x"); },
       "malformed_frames",
       {}},
      {"EmptyHeader", [=](const auto&) { return Frames{"", good_body}; }, "malformed_frames", {}},
      {"HeaderOfText",
       [=](const auto&) { return Frames{"hello", good_body}; },
       "malformed_frames",
       {}},
      {"HeaderCutShort",
       [=](const auto& to) {
         const std::string header = encode(bad_request(to));
         return Frames{header.substr(0, header.size() / 2), good_body};
       },
       "malformed_frames",
       {}},
      {"HeaderNestedAThousandDeep",
       [=](const auto&) { return Frames{nested, good_body}; },
       "malformed_frames",
       {}},
      {"HeaderWithAStringOfFourGibibytes",
       [=](const auto&) { return Frames{"\xdb\xff\xff\xff\xff"s, good_body}; },
       "malformed_frames",
       {}},
      {"HeaderWithAMapOfFourBillionEntries",
       [=](const auto&) { return Frames{"\xdf\xff\xff\xff\xff"s, good_body}; },
       "malformed_frames",
       {}},
      {"EmptyBody", [](const auto& to) { return request_with_body(to, ""); }, "malformed_frames",
       ErrorCode::malformed},
      {"BodyNestedAThousandDeep", [=](const auto& to) { return request_with_body(to, nested); },
       "malformed_frames", ErrorCode::malformed},
      {"BodyWithAStringOfFourGibibytes",
       [](const auto& to) { return request_with_body(to, lookup_of("\xdb\xff\xff\xff\xff"s)); },
       "malformed_frames", ErrorCode::malformed},
      {"BodyWithAnArrayOfFourBillionValues",
       [](const auto& to) { return request_with_body(to, lookup_of("\xdd\xff\xff\xff\xff"s)); },
       "malformed_frames", ErrorCode::malformed},
      {"UnknownVariant",
       [](const auto& to) { return request_with_body(to, "\x81\xa8NoSuchMs\x80"s); },
       "unknown_messages", ErrorCode::unknown_message},
      {"UnknownVariantInACast",
       [](const auto& to) { return of_kind(to, messages::Kind::cast, "\x81\xa8NoSuchMs\x80"s); },
       "casts_refused",
       {}},
      {"UnknownVersion",
       [=](const auto& to) {
         messages::Header header = bad_request(to);
         header.version = 2;
         return Frames{encode(header), good_body};
       },
       "unsupported_versions", ErrorCode::unsupported_version},
      {"UnknownVersionInACast",
       [=](const auto& to) {
         messages::Header header = bad_request(to);
         header.version = 2;
         header.kind = messages::Kind::cast;
         return Frames{encode(header), good_body};
       },
       "unsupported_versions",
       {}},
      {"UnknownKind",
       [=](const auto& to) {
         return Frames{replaced(encode(bad_request(to)), "request", "requiem"), good_body};
       },
       "malformed_frames", ErrorCode::malformed},
      {"AReply",
       [=](const auto& to) { return of_kind(to, messages::Kind::reply, good_body); },
       "unexpected_replies",
       {}},
      {"AReplyThatIsMalformed",
       [=](const auto& to) {
         messages::Header header = bad_request(to);
         header.kind = messages::Kind::reply;
         header.from.id = "";
         return Frames{encode(header), good_body};
       },
       "malformed_frames",
       {}},
      {"SenderWithoutIdentity", [](const auto& to) { return request_from(to, ""); },
       "malformed_frames", ErrorCode::malformed},
      {"SenderWithAnIdentityOf255Bytes",
       [](const auto& to) { return request_from(to, std::string(255, 'x')); }, "malformed_frames",
       ErrorCode::malformed},
      {"SenderWithALeadingZeroByte", [](const auto& to) { return request_from(to, "\0raw"s); },
       "malformed_frames", ErrorCode::malformed},
      {"SenderWithAnIdentityOf900Kilobytes",
       [](const auto& to) { return request_from(to, std::string(900'000, 'x')); },
       "malformed_frames", ErrorCode::malformed},
      {"WrongAddressee", [](const auto&) { return request_from({"nobody", ""}, "raw"); },
       "wrong_addressees", ErrorCode::wrong_addressee},
      {"EarlierLife",
       [=](const auto& to) {
         messages::Header header = bad_request(to);
         header.to.incarnation = messages::random_bytes<16>();
         return Frames{encode(header), good_body};
       },
       "stale_requests", ErrorCode::stale_peer},
  };
}

class MalformedMessage : public ::testing::TestWithParam<Case> {};

TEST_P(MalformedMessage, IsCountedAndRefusedAndTheNextOneIsAnswered) {
  const Case& given = GetParam();
  RunningMailbox server{config_of("server")};
  RawSocket client{zmq::socket_type::dealer};
  client.socket().connect(server.ref().at);
  client.send(given.frames(server.ref()));
  client.send({encode(raw_request(server.ref(), good_id)), encode_body(numbered(42))});
  if (given.answer) {
    const RawReply refusal = receive_reply(client);
    EXPECT_EQ(refusal.header.id, bad_id);
    ASSERT_FALSE(refusal.body);
    EXPECT_EQ(refusal.body.error().code(), *given.answer);
  }
  const RawReply reply = receive_reply(client);
  EXPECT_EQ(reply.header.id, good_id);
  EXPECT_EQ(number_in(reply.body), 42);
  EXPECT_EQ(server.counter(given.counter), 1);
  EXPECT_EQ(server.counter("requests_received"), 1);
  EXPECT_TRUE(server.failures().empty());
}

INSTANTIATE_TEST_SUITE_P(Mailbox, MalformedMessage, ::testing::ValuesIn(cases()),
                         [](const auto& tested) { return tested.param.name; });

class UnusualRoutingId : public ::testing::TestWithParam<std::string> {};

TEST_P(UnusualRoutingId, IsAnsweredLikeAnyOther) {
  RunningMailbox server{config_of("server")};
  RawSocket client{zmq::socket_type::dealer, GetParam()};
  client.socket().connect(server.ref().at);
  client.send({encode(raw_request(server.ref(), good_id)), encode_body(numbered(42))});
  EXPECT_EQ(number_in(receive_reply(client).body), 42);
}

INSTANTIATE_TEST_SUITE_P(Mailbox, UnusualRoutingId,
                         ::testing::Values(std::string(255, 'x'), "\0leading zero"s, "\xff\xfe"s));

TEST(MalformedMessage, AboutWhichACastGetsNoAnswerIsLoggedSparsely) {
  EXPECT_TRUE(is_worth_a_line(1));
  EXPECT_FALSE(is_worth_a_line(2));
  EXPECT_TRUE(is_worth_a_line(10));
  EXPECT_FALSE(is_worth_a_line(20));
  EXPECT_FALSE(is_worth_a_line(99));
  EXPECT_TRUE(is_worth_a_line(1000));
}

/// A connection below ZeroMQ.
class TcpConnection {
 public:
  explicit TcpConnection(const std::string& endpoint)
      : fd_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port =
        htons(static_cast<std::uint16_t>(std::stoul(endpoint.substr(endpoint.rfind(':') + 1))));
    EXPECT_EQ(::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    const timeval patience{.tv_sec = ample.count() / 1000, .tv_usec = 0};
    EXPECT_EQ(::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
  }
  TcpConnection(const TcpConnection&) = delete;
  TcpConnection& operator=(const TcpConnection&) = delete;
  ~TcpConnection() { ::close(fd_); }

  void send(const std::string& bytes) const {
    EXPECT_EQ(::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  /// True when the other side hangs up; what it says before is ignored.
  [[nodiscard]] bool is_hung_up() const {
    std::array<char, 4096> buffer{};
    ssize_t got = 1;
    while (got > 0) {
      got = ::recv(fd_, buffer.data(), buffer.size(), 0);
    }
    return got == 0 || errno == ECONNRESET;
  }

 private:
  int fd_;
};

/// The greeting and READY of a DEALER (ZMTP 3.0, rfc.zeromq.org/spec/23).
std::string zmtp_opening() {
  const std::string greeting = "\xff"s + std::string(8, '\0') + "\x7f\x03\x00NULL"s +
                               std::string(16, '\0') + "\0"s + std::string(31, '\0');
  const std::string ready = "\x05READY\x0bSocket-Type\0\0\0\x06"s + "DEALER"s;
  return greeting + "\x04"s + static_cast<char>(ready.size()) + ready;
}

class HostileBytes : public ::testing::TestWithParam<std::string> {};

TEST_P(HostileBytes, AreHungUpOnAndTheMailboxGoesOn) {
  RunningMailbox server{config_of("server")};
  const TcpConnection connection{server.ref().at};
  connection.send(GetParam());
  EXPECT_TRUE(connection.is_hung_up());
  RunningMailbox client{config_of("client")};
  EXPECT_EQ(number_in(client.ask(server.ref(), numbered(1)).body), 1);
}

INSTANTIATE_TEST_SUITE_P(Mailbox, HostileBytes,
                         ::testing::Values(
                             // A frame that claims 2^32-1 bytes: more than MAXMSGSIZE.
                             zmtp_opening() + "\x02\0\0\0\0\xff\xff\xff\xff"s,
                             // The same as a command.
                             zmtp_opening() + "\x06\0\0\0\0\xff\xff\xff\xff"s,
                             // A mechanism that is none.
                             "\xff"s + std::string(8, '\0') + "\x7f\x03\x00NOPE"s +
                                 std::string(48, '\0')));

}  // namespace
}  // namespace danaus::mailbox::testing
