#include "transport/types.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

namespace danaus::transport {
namespace {

using ::testing::Contains;
using ::testing::Not;

constexpr auto failed_statuses = std::to_array<CompletionStatus>({
    CompletionStatus::local_length_error,
    CompletionStatus::local_queue_pair_error,
    CompletionStatus::local_protection_error,
    CompletionStatus::work_request_flushed,
    CompletionStatus::memory_window_error,
    CompletionStatus::bad_response,
    CompletionStatus::local_access_error,
    CompletionStatus::remote_invalid_request,
    CompletionStatus::remote_access_error,
    CompletionStatus::remote_operation_error,
    CompletionStatus::retry_exceeded,
    CompletionStatus::rnr_retry_exceeded,
    CompletionStatus::fatal_error,
    CompletionStatus::general_error,
});

TEST(CompletionStatus, EachFailureHasAnErrorCodeOfItsOwn) {
  std::set<ErrorCode> codes;
  for (const auto status : failed_statuses) {
    codes.insert(to_error_code(status));
  }
  EXPECT_EQ(codes.size(), failed_statuses.size());
  EXPECT_THAT(codes, Not(Contains(ErrorCode::internal)));
}

TEST(CompletionStatus, EachFailureHasANameAndAHintOfItsOwn) {
  std::set<std::string_view> names;
  std::set<std::string_view> hints;
  for (const auto status : failed_statuses) {
    names.insert(to_string(status));
    hints.insert(hint(status));
  }
  EXPECT_EQ(names.size(), failed_statuses.size());
  EXPECT_EQ(hints.size(), failed_statuses.size());
}

TEST(CompletionStatus, IsNumberedAsInVerbs) {
  EXPECT_EQ(static_cast<unsigned>(CompletionStatus::local_protection_error), 4U);
  EXPECT_EQ(static_cast<unsigned>(CompletionStatus::work_request_flushed), 5U);
  EXPECT_EQ(static_cast<unsigned>(CompletionStatus::remote_access_error), 10U);
  EXPECT_EQ(static_cast<unsigned>(CompletionStatus::retry_exceeded), 12U);
}

TEST(CompletionStatus, ThatThisVersionDoesNotKnowIsAFaultOfOurs) {
  const auto unknown = static_cast<CompletionStatus>(99);
  EXPECT_EQ(to_error_code(unknown), ErrorCode::internal);
  EXPECT_EQ(to_string(unknown), "unknown status");
}

TEST(QueuePairState, IsNamedAsInTheLiterature) {
  EXPECT_EQ(to_string(QueuePairState::reset), "RESET");
  EXPECT_EQ(to_string(QueuePairState::init), "INIT");
  EXPECT_EQ(to_string(QueuePairState::ready_to_receive), "RTR");
  EXPECT_EQ(to_string(QueuePairState::ready_to_send), "RTS");
  EXPECT_EQ(to_string(QueuePairState::send_queue_drained), "SQD");
  EXPECT_EQ(to_string(QueuePairState::send_queue_error), "SQE");
  EXPECT_EQ(to_string(QueuePairState::error), "ERR");
}

TEST(AccessFlags, AreASetOfBits) {
  const auto flags = AccessFlags::local_write | AccessFlags::remote_read;
  EXPECT_TRUE(has(flags, AccessFlags::remote_read));
  EXPECT_FALSE(has(flags, AccessFlags::remote_write));
  EXPECT_TRUE(has(full_access, AccessFlags::remote_atomic));
}

}  // namespace
}  // namespace danaus::transport
