// Submitted operations: taking their results, and sleeping on the fd until they are there.
#include <vector>

#include "tests/unit/transport/operation_queue_fixture.hpp"

namespace danaus::transport::testing {
namespace {

TEST_F(OperationQueueTest, GivesASubmittedResultOnce) {
  const auto id = submitted(put_of(8));
  EXPECT_FALSE(queue_->try_take(id));
  fake_->complete();
  const auto result = queue_->try_take(id).value();
  EXPECT_EQ(result.id, id);
  EXPECT_TRUE(result.outcome);
  EXPECT_EQ(code_of(queue_->try_take(id).value().outcome), ErrorCode::not_found);
  EXPECT_EQ(code_of(queue_->wait(id, no_deadline)), ErrorCode::not_found);
}

TEST_F(OperationQueueTest, NeverReusesTheIdOfATakenOperation) {
  fake_->complete_at_once();
  const auto first = submitted(put_of(8));
  ASSERT_TRUE(queue_->try_take(first));
  const auto second = submitted(put_of(8));
  EXPECT_NE(first, second);
  EXPECT_EQ(code_of(queue_->try_take(first).value().outcome), ErrorCode::not_found);
  EXPECT_TRUE(queue_->try_take(second).value().outcome);
}

TEST_F(OperationQueueTest, TakesNoMoreResultsThanThereIsRoomFor) {
  std::vector<OperationId> ids;
  for (int i = 0; i < 40; ++i) {
    ids.push_back(submitted(put_of(8)));
  }
  fake_->complete(40);
  std::vector<OperationId> taken;
  std::vector<OperationResult> results(7);
  while (taken.size() < ids.size()) {
    const auto count = queue_->poll(results);
    for (std::size_t i = 0; i < count; ++i) {
      taken.push_back(results[i].id);
    }
  }
  EXPECT_EQ(taken, ids);
  EXPECT_EQ(queue_->poll(results), 0U);
}

TEST_F(OperationQueueTest, WaitsForASubmittedOperation) {
  const auto id = submitted(put_of(8));
  auto outcome = std::async(std::launch::async, [&] { return queue_->wait(id, no_deadline); });
  fake_->wait_until_armed();
  EXPECT_EQ(fake_->pollers(), 1);
  fake_->complete();
  EXPECT_TRUE(outcome.get());
}

TEST_F(OperationQueueTest, WaitsNotForWhatIsOverAlready) {
  const auto first = submitted(put_of(8));
  const auto second = submitted(put_of(8));
  fake_->complete(2);
  ASSERT_TRUE(queue_->try_take(second));
  EXPECT_TRUE(queue_->wait(first, Clock::now()));
}

TEST_F(OperationQueueTest, TimesOutASubmittedOperationThatIsWaitedFor) {
  const auto id = submitted(put_of(8));
  EXPECT_EQ(code_of(queue_->wait(id, Clock::now())), ErrorCode::timeout);
}

TEST_F(OperationQueueTest, DropsTheResultsOfWhatWasDiscarded) {
  make(1);
  const auto over = submitted(put_of(1));
  const auto under_way = submitted(put_of(2));
  const auto not_posted = submitted(put_of(3));
  fake_->complete();
  std::array<OperationResult, 4> results;
  ASSERT_FALSE(queue_->try_take(under_way));  // which takes in the completion of `over`
  for (const auto id : {over, under_way, not_posted}) {
    queue_->discard(id);
    EXPECT_EQ(code_of(queue_->wait(id, no_deadline)), ErrorCode::not_found);
  }
  auto blocking = run_in_thread(put_of(4));
  for (std::size_t posted = 2; posted <= 4; ++posted) {
    fake_->wait_until_posted(posted);
    fake_->complete();
  }
  EXPECT_TRUE(blocking.get());
  queue_->arm();
  EXPECT_EQ(queue_->poll(results), 0U);
  EXPECT_FALSE(is_readable(queue_->fd()));
  EXPECT_EQ(queue_->completed_operations(), 4U);
}

TEST_F(OperationQueueTest, MakesItsFdReadableOnceArmedAndSomethingCompletes) {
  const auto id = submitted(put_of(8));
  queue_->arm();
  EXPECT_FALSE(queue_->try_take(id));
  EXPECT_FALSE(is_readable(queue_->fd()));
  fake_->complete();
  EXPECT_TRUE(is_readable(queue_->fd()));
  EXPECT_TRUE(queue_->try_take(id));
  EXPECT_FALSE(is_readable(queue_->fd()));
}

TEST_F(OperationQueueTest, MakesItsFdReadableForAResultThatABlockingCallerCollected) {
  const auto id = submitted(put_of(1));
  queue_->arm();
  auto blocking = run_in_thread(put_of(2));
  fake_->wait_until_armed(2);
  fake_->complete(2);
  ASSERT_TRUE(blocking.get());
  ASSERT_EQ(fake_->unpolled(), 0U);
  EXPECT_TRUE(is_readable(queue_->fd()));
  EXPECT_TRUE(queue_->try_take(id).value().outcome);
  EXPECT_FALSE(is_readable(queue_->fd()));
}

TEST_F(OperationQueueTest, KeepsItsFdReadableWhileSomebodyElsesResultIsThere) {
  const auto mine = submitted(put_of(1));
  const auto somebody_elses = submitted(put_of(2));
  queue_->arm();
  fake_->complete(2);
  EXPECT_TRUE(queue_->try_take(mine));
  EXPECT_TRUE(is_readable(queue_->fd()));
  EXPECT_TRUE(queue_->try_take(somebody_elses));
  EXPECT_FALSE(is_readable(queue_->fd()));
}

TEST_F(OperationQueueTest, WakesASleeperWhoArmedBeforeABlockingCallerCameAndWent) {
  make(2);
  const auto blocking_one = submitted(put_of(1));
  const auto id = submitted(put_of(2));
  queue_->arm();
  auto blocking =
      std::async(std::launch::async, [&] { return queue_->wait(blocking_one, no_deadline); });
  fake_->wait_until_armed(2);
  fake_->complete();
  ASSERT_TRUE(blocking.get());
  EXPECT_FALSE(is_readable(queue_->fd()));
  fake_->complete();
  EXPECT_TRUE(is_readable(queue_->fd()));
  EXPECT_TRUE(queue_->try_take(id));
}

TEST_F(OperationQueueTest, LeavesItsFdQuietWhileABlockingCallerPolls) {
  const auto id = submitted(put_of(1));
  auto blocking = run_in_thread(put_of(2));
  fake_->wait_until_armed();
  queue_->arm();
  EXPECT_FALSE(queue_->try_take(id));
  EXPECT_FALSE(is_readable(queue_->fd()));
  fake_->complete();
  sleep_on(queue_->fd());
  EXPECT_TRUE(queue_->try_take(id).value().outcome);
  fake_->complete();
  EXPECT_TRUE(blocking.get());
}

TEST_F(OperationQueueTest, WakesASleeperByAnAbort) {
  make(1);
  submitted(put_of(1));
  const auto never_posted = submitted(put_of(2));
  queue_->arm();
  queue_->abort(Error{ErrorCode::shutting_down, "the worker stops"});
  EXPECT_TRUE(is_readable(queue_->fd()));
  EXPECT_EQ(code_of(queue_->try_take(never_posted).value().outcome), ErrorCode::shutting_down);
}

TEST_F(OperationQueueTest, IsReadableAtOnceWhenArmedWithAResultThere) {
  fake_->complete_at_once();
  const auto first = submitted(put_of(1));
  const auto second = submitted(put_of(2));
  ASSERT_TRUE(queue_->try_take(first));
  EXPECT_FALSE(is_readable(queue_->fd()));
  queue_->arm();
  EXPECT_TRUE(is_readable(queue_->fd()));
  EXPECT_TRUE(queue_->try_take(second));
}

}  // namespace
}  // namespace danaus::transport::testing
