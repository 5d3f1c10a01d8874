// Puts with immediate and receives as operations.
#include <vector>

#include "tests/unit/transport/operation_queue_fixture.hpp"

namespace danaus::transport::testing {
namespace {

using ::testing::HasSubstr;

const Operation a_receive{.receive = true};

TEST_F(OperationQueueTest, OnlyTheLastPartOfALongPutTellsThePeer) {
  auto operation = put_of(2 * gib + 1);
  operation.opcode = Opcode::rdma_write_with_immediate;
  operation.immediate = 99;
  submitted(operation);
  const auto posted = fake_->posted();
  ASSERT_EQ(posted.size(), 3U);
  EXPECT_EQ(posted[0].opcode, Opcode::rdma_write);
  EXPECT_EQ(posted[1].opcode, Opcode::rdma_write);
  EXPECT_EQ(posted[2].opcode, Opcode::rdma_write_with_immediate);
  EXPECT_EQ(posted[2].immediate, 99U);
  EXPECT_EQ(posted[2].length, 1U);
}

TEST_F(OperationQueueTest, AReceiveReturnsWhatArrived) {
  auto result = std::async(std::launch::async,
                           [&] { return queue_->run_for_result(a_receive, no_deadline); });
  fake_->wait_until_armed();
  fake_->deliver(5, 4096);
  const auto received = result.get();
  EXPECT_TRUE(received.outcome);
  EXPECT_EQ(received.immediate, 5U);
  EXPECT_EQ(received.length, 4096U);
  EXPECT_EQ(queue_->completed_operations(), 0U) << "the peer's, not ours";
}

TEST_F(OperationQueueTest, SubmittedReceivesAreServedInOrderAndWakeTheirFd) {
  const auto first = submitted(a_receive);
  const auto second = submitted(a_receive);
  queue_->arm();
  EXPECT_FALSE(is_readable(queue_->fd()));
  fake_->deliver(1, 0);
  fake_->deliver(2, 0);
  EXPECT_TRUE(is_readable(queue_->fd()));
  std::vector<OperationResult> results(4);
  ASSERT_EQ(queue_->poll(results), 2U);
  EXPECT_EQ(results[0].id, first);
  EXPECT_EQ(results[0].immediate, 1U);
  EXPECT_EQ(results[1].id, second);
  EXPECT_EQ(results[1].immediate, 2U);
}

TEST_F(OperationQueueTest, AReceivePastItsDeadlineEndsAloneAndLosesNothing) {
  const auto outcome = queue_->run(a_receive, Clock::now());
  ASSERT_EQ(code_of(outcome), ErrorCode::timeout);
  EXPECT_THAT(outcome.error().message(), HasSubstr("receive from worker b (soft0)"));
  EXPECT_EQ(fake_->state(), QueuePairState::ready_to_send);
  EXPECT_EQ(fake_->receives(), 1U);
  fake_->deliver(6, 0);
  EXPECT_EQ(queue_->run_for_result(a_receive, no_deadline).immediate, 6U);
  EXPECT_EQ(fake_->receives(), 0U) << "what was posted for the first served the second";
}

TEST_F(OperationQueueTest, WhatArrivesWhenNobodyWaitsIsTheNextReceives) {
  static_cast<void>(queue_->run(a_receive, Clock::now()));
  fake_->deliver(7, 0);
  fake_->complete_at_once();
  EXPECT_TRUE(queue_->run(put_of(8), no_deadline));  // polls
  const auto id = submitted(a_receive);
  EXPECT_EQ(queue_->try_take(id).value().immediate, 7U);
  EXPECT_EQ(fake_->receives(), 0U);
}

TEST_F(OperationQueueTest, ADiscardedReceiveKeepsNothingFromTheNext) {
  const auto waiting = submitted(a_receive);
  queue_->discard(waiting);
  fake_->deliver(8, 0);
  const auto over = submitted(a_receive);
  std::vector<OperationResult> none;
  fake_->complete_at_once();
  EXPECT_TRUE(queue_->run(put_of(8), no_deadline));  // polls
  queue_->discard(over);
  EXPECT_EQ(queue_->run_for_result(a_receive, no_deadline).immediate, 8U);
}

TEST_F(OperationQueueTest, AReceiveFallsWithItsQueuePair) {
  const auto waiting = submitted(a_receive);
  const auto put = submitted(put_of(8));
  fake_->fail(CompletionStatus::remote_access_error);
  EXPECT_EQ(code_of(queue_->try_take(put).value().outcome), ErrorCode::remote_access_error);
  const auto outcome = queue_->try_take(waiting).value().outcome;
  ASSERT_EQ(code_of(outcome), ErrorCode::queue_pair_reset);
  EXPECT_THAT(outcome.error().message(), HasSubstr("receive from worker b (soft0)"));
  EXPECT_EQ(code_of(queue_->run(a_receive, no_deadline)), ErrorCode::invalid_queue_pair_state);
}

TEST_F(OperationQueueTest, AReceiverLearnsThatThePeerIsGone) {
  auto outcome =
      std::async(std::launch::async, [&] { return queue_->run(a_receive, no_deadline); });
  fake_->wait_until_armed();
  fake_->die();
  const auto result = outcome.get();
  ASSERT_EQ(code_of(result), ErrorCode::queue_pair_reset);
  EXPECT_THAT(result.error().message(), HasSubstr("left RTS"));
}

TEST_F(OperationQueueTest, AReceiverWhoLeadsServesThoseWhoPut) {
  auto received = std::async(std::launch::async,
                             [&] { return queue_->run_for_result(a_receive, no_deadline); });
  fake_->wait_until_armed();
  auto put = run_in_thread(put_of(8));
  fake_->wait_until_posted(1);
  fake_->complete();
  EXPECT_TRUE(put.get());
  fake_->deliver(3, 0);
  EXPECT_EQ(received.get().immediate, 3U);
}

TEST_F(OperationQueueTest, WhatHasArrivedOutlivesTheQueuePair) {
  static_cast<void>(queue_->run(a_receive, Clock::now()));
  fake_->deliver(9, 0);
  fake_->complete_at_once();
  EXPECT_TRUE(queue_->run(put_of(8), no_deadline));  // polls
  queue_->abort(Error{ErrorCode::shutting_down, "over"});
  EXPECT_EQ(queue_->run_for_result(a_receive, no_deadline).immediate, 9U);
}

}  // namespace
}  // namespace danaus::transport::testing
