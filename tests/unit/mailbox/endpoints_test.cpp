// What a mailbox can be bound to, and what it tells others to dial.
#include <gtest/gtest.h>

#include "harness.hpp"
#include "mailbox/endpoint.hpp"

namespace danaus::mailbox::testing {
namespace {

Error error_of(const MailboxConfig& config) {
  RecordingSink sink;
  try {
    const Mailbox mailbox{config, sink};
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error";
  return {ErrorCode::internal, "no error"};
}

TEST(MailboxEndpoints, AreReportedWithTheirPort) {
  RecordingSink sink;
  const Mailbox mailbox{config_of("m"), sink};
  EXPECT_TRUE(mailbox.self().at.starts_with("tcp://127.0.0.1:"));
  EXPECT_FALSE(mailbox.self().at.ends_with("*"));
}

TEST(MailboxEndpoints, AreReportedAsAdvertised) {
  MailboxConfig config = config_of("m", "tcp://0.0.0.0:*");
  config.advertise = "tcp://example.org:4000";
  RecordingSink sink;
  const Mailbox mailbox{config, sink};
  EXPECT_EQ(mailbox.self().at, "tcp://example.org:4000");
}

TEST(MailboxEndpoints, TakeTheBoundPortForAnAdvertisedStar) {
  EXPECT_EQ(dialled_endpoint("m", "tcp://example.org:*", "tcp://0.0.0.0:4711"),
            "tcp://example.org:4711");
}

TEST(MailboxEndpoints, ThatNobodyCanDialAreRefused) {
  EXPECT_EQ(error_of(config_of("m", "tcp://*:*")).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(error_of(config_of("m", "tcp://0.0.0.0:*")).code(), ErrorCode::invalid_argument);
}

TEST(MailboxEndpoints, InUseAreNamedInTheError) {
  RecordingSink sink;
  const Mailbox first{config_of("first"), sink};
  const Error error = error_of(config_of("second", first.self().at));
  EXPECT_EQ(error.code(), ErrorCode::io_failed);
  EXPECT_NE(error.message().find(first.self().at), std::string::npos);
  EXPECT_NE(error.message().find("in use"), std::string::npos);
}

TEST(MailboxEndpoints, OfAnotherMachineAreRefused) {
  // 192.0.2.0/24 is set aside for documentation (RFC 5737).
  EXPECT_EQ(error_of(config_of("m", "tcp://192.0.2.1:*")).code(), ErrorCode::io_failed);
}

TEST(MailboxEndpoints, ThatAreNoneAreRefused) {
  for (const char* const endpoint : {"nonsense", "udp://127.0.0.1:1", "inproc://m", "tcp://",
                                     "tcp://127.0.0.1", "tcp://127.0.0.1:99999"}) {
    SCOPED_TRACE(endpoint);
    EXPECT_EQ(error_of(config_of("m", endpoint)).code(), ErrorCode::invalid_argument);
  }
  EXPECT_EQ(error_of(config_of("m", "ipc://" + std::string(200, 'x'))).code(),
            ErrorCode::invalid_argument);
}

TEST(MailboxEndpoints, OfABadIdentityAreRefused) {
  EXPECT_EQ(error_of(config_of("")).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(error_of(config_of("a b")).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(error_of(config_of(std::string(201, 'x'))).code(), ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace danaus::mailbox::testing
