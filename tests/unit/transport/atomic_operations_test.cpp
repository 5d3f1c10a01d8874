// Atomics as operations: what is posted, where the value comes from, and how they fail.
#include <vector>

#include "tests/unit/transport/operation_queue_fixture.hpp"

namespace danaus::transport::testing {
namespace {

using ::testing::HasSubstr;

Operation fetch_add_of(std::uint64_t value) {
  return {.opcode = Opcode::atomic_fetch_and_add,
          .remote_address = 0x20'0000'0000,
          .rkey = 22,
          .length = atomic_length,
          .compare_add = value};
}

/// What the device does: writes what it found to where the request says.
void answer(const WorkRequest& request, std::uint64_t found) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): what a device would write
  *reinterpret_cast<std::uint64_t*>(request.local_address) = found;
}

TEST_F(OperationQueueTest, PostsAnAtomicWithItsOperandsAndAPlaceForItsValue) {
  const auto id = submitted({.opcode = Opcode::atomic_compare_and_swap,
                             .remote_address = 0x20'0000'0008,
                             .rkey = 22,
                             .length = atomic_length,
                             .compare_add = 5,
                             .swap = 6});
  const auto posted = fake_->posted().at(0);
  EXPECT_EQ(posted.opcode, Opcode::atomic_compare_and_swap);
  EXPECT_EQ(posted.remote_address, 0x20'0000'0008U);
  EXPECT_EQ(posted.rkey, 22U);
  EXPECT_EQ(posted.length, atomic_length);
  EXPECT_EQ(posted.compare_add, 5U);
  EXPECT_EQ(posted.swap, 6U);
  EXPECT_EQ(posted.lkey, domain_.lkey);
  answer(posted, 77);
  fake_->complete();
  const auto result = queue_->try_take(id).value();
  EXPECT_TRUE(result.outcome);
  EXPECT_EQ(result.value, 77U);
}

TEST_F(OperationQueueTest, WaitsForAnAtomicAndReturnsItsValue) {
  auto result = std::async(std::launch::async,
                           [&] { return queue_->run_for_result(fetch_add_of(1), no_deadline); });
  fake_->wait_until_posted(1);
  answer(fake_->posted().at(0), 41);
  fake_->complete();
  EXPECT_EQ(result.get().value, 41U);
  EXPECT_EQ(queue_->completed_operations(), 1U);
}

TEST_F(OperationQueueTest, GivesEveryAtomicUnderWayAPlaceOfItsOwn) {
  make(8);
  std::vector<OperationId> ids;
  for (std::uint64_t i = 0; i < 24; ++i) {
    ids.push_back(submitted(fetch_add_of(i)));
  }
  for (std::uint64_t i = 0; i < ids.size(); ++i) {
    answer(fake_->posted().at(i), 100 + i);
    fake_->complete();
    EXPECT_EQ(queue_->try_take(ids[i]).value().value, 100 + i);
  }
  EXPECT_EQ(domain_.registrations, 1);
}

TEST_F(OperationQueueTest, RegistersNothingUntilTheFirstAtomic) {
  fake_->complete_at_once();
  EXPECT_TRUE(queue_->run(put_of(8), no_deadline));
  EXPECT_EQ(domain_.registrations, 0);
  EXPECT_TRUE(queue_->prepare_atomics());
  EXPECT_TRUE(queue_->run(fetch_add_of(1), no_deadline));
  EXPECT_EQ(domain_.registrations, 1);
}

TEST_F(OperationQueueTest, RefusesAnAtomicWhoseResultsCannotBeRegistered) {
  domain_.refuses = true;
  EXPECT_EQ(code_of(queue_->run(fetch_add_of(1), no_deadline)), ErrorCode::registration_failed);
  domain_.refuses = false;
  fake_->complete_at_once();
  EXPECT_TRUE(queue_->run(fetch_add_of(1), no_deadline));
}

TEST_F(OperationQueueTest, RefusesAnAtomicOfAWrongForm) {
  auto misaligned = fetch_add_of(1);
  misaligned.remote_address += 4;
  auto longer = fetch_add_of(1);
  longer.length = 16;
  for (const Operation& operation : {misaligned, longer}) {
    const auto outcome = queue_->submit(operation);
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code(), ErrorCode::invalid_argument);
    EXPECT_THAT(outcome.error().message(), HasSubstr("a multiple of 8"));
  }
  EXPECT_TRUE(fake_->posted().empty());
}

TEST_F(OperationQueueTest, GivesUpAnAtomicAsAnyOtherOperation) {
  const auto outcome = queue_->run(fetch_add_of(1), Clock::now());
  EXPECT_EQ(code_of(outcome), ErrorCode::timeout);
  EXPECT_EQ(fake_->state(), QueuePairState::error);
}

TEST_F(OperationQueueTest, NamesAFailedAtomic) {
  const auto id = submitted(fetch_add_of(1));
  fake_->fail(CompletionStatus::remote_access_error);
  const auto outcome = queue_->try_take(id).value().outcome;
  ASSERT_EQ(code_of(outcome), ErrorCode::remote_access_error);
  EXPECT_THAT(outcome.error().message(), HasSubstr("fetch-add of 8 bytes at worker b (soft0)"));
}

}  // namespace
}  // namespace danaus::transport::testing
