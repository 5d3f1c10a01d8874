#include "messages/actor_ref.hpp"

#include <gtest/gtest.h>

#include <string>

#include "support.hpp"

namespace danaus::messages {
namespace {

using test::expect_error;
using test::invalid;

TEST(Identity, TakesLettersDigitsDotUnderscoreAndDash) {
  EXPECT_TRUE(is_valid_identity("a"));
  EXPECT_TRUE(is_valid_identity("Trainer_0.rank-17"));
  EXPECT_TRUE(is_valid_identity(std::string(200, 'x')));
}

TEST(Identity, RefusesEverythingElse) {
  EXPECT_FALSE(is_valid_identity(""));
  EXPECT_FALSE(is_valid_identity(std::string(201, 'x')));
  for (const std::string_view bad : {"a b", "a@b", "a/b", "a:b", "é", "a\n"}) {
    EXPECT_FALSE(is_valid_identity(bad)) << bad;
  }
  EXPECT_FALSE(is_valid_identity(std::string_view{"\0a", 2}));
}

TEST(ActorRef, IsWrittenAsItIsParsed) {
  for (const std::string text :
       {"alpha@tcp://127.0.0.1:7001", "a.b-c_d@tcp://host-1.example.org:1", "x@tcp://[::1]:65535",
        "x@tcp://[fe80::1%eth0]:5", "x@ipc:///tmp/danaus.sock", "x@ipc://@abstract", "passive"}) {
    const auto ref = parse_actor_ref(text);
    ASSERT_TRUE(ref) << text << ": " << ref.error().message();
    EXPECT_EQ(to_string(*ref), text);
  }
}

TEST(ActorRef, SplitsAtTheFirstAt) {
  const auto ref = parse_actor_ref("x@ipc:///tmp/a@b");
  ASSERT_TRUE(ref);
  EXPECT_EQ(*ref, (ActorRef{"x", "ipc:///tmp/a@b"}));
}

TEST(ActorRef, IsPassiveWithoutAnEndpoint) {
  EXPECT_EQ(parse_actor_ref("alpha"), (ActorRef{"alpha", ""}));
}

TEST(ActorRef, RefusesABadIdentity) {
  expect_error(parse_actor_ref(""), invalid, "identity ''");
  expect_error(parse_actor_ref("@tcp://h:1"), invalid, "identity ''");
  expect_error(parse_actor_ref("a b@tcp://h:1"), invalid, "identity 'a b'");
  expect_error(parse_actor_ref("tcp://h:1"), invalid, "identity@endpoint");
}

TEST(ActorRef, RefusesAnEndpointOfAnotherKind) {
  expect_error(parse_actor_ref("a@"), invalid, "nothing behind its '@'");
  expect_error(parse_actor_ref("a@h:1"), invalid, "neither tcp://HOST:PORT nor ipc://PATH");
  expect_error(parse_actor_ref("a@udp://h:1"), invalid, "neither");
  expect_error(parse_actor_ref("a@inproc://x"), invalid, "neither");
  expect_error(parse_actor_ref("a@TCP://h:1"), invalid, "neither");
}

TEST(ActorRef, RefusesABadPort) {
  expect_error(parse_actor_ref("a@tcp://h"), invalid, "no port");
  expect_error(parse_actor_ref("a@tcp://[::1]"), invalid, "no port");
  for (const std::string port : {"", "0", "65536", "-1", "+1", "80x", "*", "http", " 80", "0x50"}) {
    expect_error(parse_actor_ref("a@tcp://h:" + port), invalid, "1 to 65535");
  }
}

TEST(ActorRef, RefusesABadHost) {
  expect_error(parse_actor_ref("a@tcp://:80"), invalid, "no valid host");
  expect_error(parse_actor_ref("a@tcp://h h:80"), invalid, "no valid host");
  expect_error(parse_actor_ref("a@tcp://h/x:80"), invalid, "no valid host");
  expect_error(parse_actor_ref("a@tcp://[]:80"), invalid, "no valid host");
  expect_error(parse_actor_ref("a@tcp://[h]:80"), invalid, "no valid host");
  expect_error(parse_actor_ref("a@tcp://::1:80"), invalid, "without brackets");
  expect_error(parse_actor_ref("a@tcp://" + std::string(254, 'h') + ":80"), invalid, "no valid");
}

TEST(ActorRef, RefusesAWildcard) {
  for (const std::string host : {"*", "0.0.0.0", "[::]"}) {
    expect_error(parse_actor_ref("a@tcp://" + host + ":80"), invalid, "cannot be dialled");
  }
}

TEST(ActorRef, RefusesABadIpcPath) {
  expect_error(parse_actor_ref("a@ipc://"), invalid, "names no path");
  expect_error(parse_actor_ref("a@ipc://*"), invalid, "names no path");
  expect_error(parse_actor_ref("a@ipc:///" + std::string(107, 'p')), invalid, "at most 107");
  EXPECT_TRUE(parse_actor_ref("a@ipc:///" + std::string(106, 'p')));
  expect_error(parse_actor_ref(std::string{"a@ipc:///x\0y", 12}), invalid, "zero byte");
}

TEST(ActorRef, ChecksAReferenceThatCameInParts) {
  EXPECT_TRUE(check_actor_ref({"a", ""}));
  EXPECT_TRUE(check_actor_ref({"a", "tcp://h:1"}));
  expect_error(check_actor_ref({"", "tcp://h:1"}), invalid, "identity");
  expect_error(check_actor_ref({"a", "h:1"}), invalid, "neither");
}

TEST(ActorRef, QuotesWhatItRefusesWithoutControlCharactersAndCut) {
  const auto error = parse_actor_ref("a@\x1b[31m" + std::string(1000, 'x')).error();
  EXPECT_EQ(error.message().find('\x1b'), std::string::npos);
  EXPECT_NE(error.message().find("\\x1b"), std::string::npos);
  EXPECT_LT(error.message().size(), 200U);
}

TEST(BufferRef, SplitsAtTheLastSlash) {
  const auto tcp = parse_buffer_ref("alpha@tcp://127.0.0.1:7001/weights");
  ASSERT_TRUE(tcp);
  EXPECT_EQ(*tcp, (BufferRef{{"alpha", "tcp://127.0.0.1:7001"}, "weights"}));

  const auto ipc = parse_buffer_ref("alpha@ipc:///tmp/dir/sock/weights");
  ASSERT_TRUE(ipc);
  EXPECT_EQ(*ipc, (BufferRef{{"alpha", "ipc:///tmp/dir/sock"}, "weights"}));
}

TEST(BufferRef, RefusesAReferenceWithoutABuffer) {
  expect_error(parse_buffer_ref("alpha@tcp://127.0.0.1:7001"), invalid, "names no buffer");
  expect_error(parse_buffer_ref("alpha"), invalid, "names no buffer");
  expect_error(parse_buffer_ref("alpha@tcp://127.0.0.1:7001/"), invalid, "before the buffer's");
  expect_error(parse_buffer_ref(""), invalid, "identity@endpoint/buffer");
}

TEST(BufferRef, RefusesABufferOfAPassiveActor) {
  expect_error(parse_buffer_ref("alpha/weights"), invalid, "no endpoint");
}

TEST(BufferRef, RefusesABadOwner) {
  expect_error(parse_buffer_ref("al pha@tcp://h:1/weights"), invalid, "identity 'al pha'");
  expect_error(parse_buffer_ref("alpha@tcp://h:0/weights"), invalid, "1 to 65535");
}

}  // namespace
}  // namespace danaus::messages
