// What an operation becomes on its way to the queue pair: work requests, in order, within bounds.
#include <algorithm>
#include <limits>
#include <vector>

#include "tests/unit/transport/operation_queue_fixture.hpp"
#include "transport/completion_waiter.hpp"

namespace danaus::transport::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;

std::vector<std::uint64_t> lengths_of(const std::vector<WorkRequest>& requests) {
  std::vector<std::uint64_t> lengths;
  std::ranges::transform(requests, std::back_inserter(lengths), &WorkRequest::length);
  return lengths;
}

TEST_F(OperationQueueTest, CarriesAnOperationOutAsOneWorkRequest) {
  fake_->complete_at_once();
  EXPECT_TRUE(queue_->run(get_of(4096), no_deadline));
  EXPECT_THAT(fake_->posted(),
              ElementsAre(AllOf(Field(&WorkRequest::opcode, Opcode::rdma_read),
                                Field(&WorkRequest::local_address, 0x10'0000'0000),
                                Field(&WorkRequest::lkey, 11),
                                Field(&WorkRequest::remote_address, 0x20'0000'0000),
                                Field(&WorkRequest::rkey, 22), Field(&WorkRequest::length, 4096))));
}

TEST_F(OperationQueueTest, PostsAZeroLengthOperationAsAnEmptyWorkRequest) {
  fake_->complete_at_once();
  EXPECT_TRUE(queue_->run(put_of(0), no_deadline));
  EXPECT_THAT(lengths_of(fake_->posted()), ElementsAre(0));
}

TEST_F(OperationQueueTest, SplitsWhatIsLongerThanAGibibyte) {
  fake_->complete_at_once();
  for (const auto length : {gib - 1, gib, gib + 1, 2 * gib + gib / 2}) {
    EXPECT_TRUE(queue_->run(put_of(length), no_deadline));
  }
  EXPECT_THAT(lengths_of(fake_->posted()), ElementsAre(gib - 1, gib, gib, 1, gib, gib, gib / 2));
}

TEST_F(OperationQueueTest, PutsThePiecesOfALongOperationSideBySide) {
  fake_->complete_at_once();
  ASSERT_TRUE(queue_->run(put_of(2 * gib + 5), no_deadline));
  const auto posted = fake_->posted();
  ASSERT_EQ(posted.size(), 3U);
  for (std::size_t i = 0; i < posted.size(); ++i) {
    EXPECT_EQ(posted[i].local_address, 0x10'0000'0000 + i * gib);
    EXPECT_EQ(posted[i].remote_address, 0x20'0000'0000 + i * gib);
    EXPECT_EQ(posted[i].rkey, 22U);
  }
}

TEST_F(OperationQueueTest, IsOverOnlyWhenItsLastPieceIs) {
  const auto id = submitted(put_of(2 * gib));
  fake_->complete();
  EXPECT_FALSE(queue_->try_take(id));
  fake_->complete();
  EXPECT_TRUE(queue_->try_take(id).value().outcome);
}

TEST_F(OperationQueueTest, RefusesRangesThatWrapPastTheEndOfTheAddressSpace) {
  auto operation = put_of(2);
  operation.local_address = std::numeric_limits<std::uint64_t>::max();
  const auto local = queue_->run(operation, no_deadline);
  EXPECT_EQ(code_of(local), ErrorCode::invalid_argument);
  EXPECT_THAT(local.error().message(), HasSubstr("local side"));

  operation = put_of(2);
  operation.remote_address = std::numeric_limits<std::uint64_t>::max();
  const auto remote = queue_->submit(operation);
  ASSERT_FALSE(remote);
  EXPECT_EQ(remote.error().code(), ErrorCode::invalid_argument);
  EXPECT_THAT(remote.error().message(), HasSubstr("remote side"));
  EXPECT_TRUE(fake_->posted().empty());
}

TEST_F(OperationQueueTest, AllowsARangeThatEndsWithTheAddressSpace) {
  fake_->complete_at_once();
  auto operation = put_of(1);
  operation.remote_address = std::numeric_limits<std::uint64_t>::max();
  EXPECT_TRUE(queue_->run(operation, no_deadline));
}

TEST_F(OperationQueueTest, NeverPostsMoreThanTheSendQueueHolds) {
  make(3);
  for (int i = 0; i < 10; ++i) {
    submitted(put_of(2 * gib));
  }
  std::vector<OperationResult> results(10);
  std::size_t over = 0;
  while (over < results.size()) {
    EXPECT_LE(fake_->outstanding(), 3U);
    fake_->complete(2);
    over += queue_->poll(std::span{results}.subspan(over));
  }
  EXPECT_EQ(fake_->most_outstanding(), 3U);
  EXPECT_EQ(fake_->posted().size(), 20U);
}

TEST_F(OperationQueueTest, PostsInTheOrderOfSubmissionThoughTheSendQueueIsFull) {
  make(2);
  std::vector<OperationId> submitted_ids;
  for (const auto length : {3 * gib, std::uint64_t{5}, 2 * gib, std::uint64_t{7}}) {
    submitted_ids.push_back(submitted(put_of(length)));
  }
  std::vector<OperationId> taken_ids;
  std::vector<OperationResult> results(4);
  while (taken_ids.size() < 4) {
    fake_->complete();
    const auto count = queue_->poll(results);
    for (std::size_t i = 0; i < count; ++i) {
      taken_ids.push_back(results[i].id);
    }
  }
  EXPECT_THAT(lengths_of(fake_->posted()), ElementsAre(gib, gib, gib, 5, gib, gib, 7));
  EXPECT_EQ(taken_ids, submitted_ids);
}

TEST_F(OperationQueueTest, TellsTheQueuePairBeforePostingThatItWillPoll) {
  fake_->complete_at_once();
  ASSERT_TRUE(queue_->run(put_of(8), no_deadline));
  EXPECT_THAT(fake_->pollers_at_post(), Each(1));
  EXPECT_EQ(fake_->pollers(), 0);
}

TEST_F(OperationQueueTest, StopsSpinningWhereThatIsInVain) {
  const auto polls_of_one_that_sleeps = [this](std::size_t number) {
    const std::size_t before = fake_->times_polled();
    auto outcome = run_in_thread(put_of(8));
    fake_->wait_until_armed(number);
    fake_->complete();
    EXPECT_TRUE(outcome.get());
    return fake_->times_polled() - before;
  };
  std::size_t number = 0;
  while (number < SpinCredit::at_first) {
    EXPECT_GE(polls_of_one_that_sleeps(++number), 1U);
  }
  EXPECT_EQ(polls_of_one_that_sleeps(++number), 1U);
}

TEST_F(OperationQueueTest, LeavesProgressOfASubmittedOperationToTheTransport) {
  submitted(put_of(8));
  EXPECT_THAT(fake_->pollers_at_post(), Each(0));
}

TEST_F(OperationQueueTest, CountsWhatItCarriedOut) {
  fake_->complete_at_once();
  ASSERT_TRUE(queue_->run(put_of(100), no_deadline));
  ASSERT_TRUE(queue_->run(get_of(23), no_deadline));
  EXPECT_EQ(queue_->completed_operations(), 2U);
  EXPECT_EQ(queue_->completed_bytes(), 123U);
}

}  // namespace
}  // namespace danaus::transport::testing
