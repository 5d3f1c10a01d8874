// How operations fail: the first real error, deadlines, and what becomes of the others.
#include <atomic>

#include "tests/unit/transport/operation_queue_fixture.hpp"

namespace danaus::transport::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// A test's patience where a failure would otherwise hang; never reached when all is well.
Clock::time_point passed_deadline() {
  return Clock::now();
}

TEST_F(OperationQueueTest, ReportsTheStatusOfTheWorkRequestThatFailed) {
  auto outcome = run_in_thread(put_of(8));
  fake_->wait_until_posted(1);
  fake_->fail(CompletionStatus::remote_access_error);
  const auto result = outcome.get();
  ASSERT_EQ(code_of(result), ErrorCode::remote_access_error);
  EXPECT_THAT(result.error().message(),
              AllOf(HasSubstr("put of 8 bytes to worker b (soft0)"),
                    HasSubstr("remote access error"), HasSubstr("status 10"),
                    HasSubstr(std::string{hint(CompletionStatus::remote_access_error)})));
}

TEST_F(OperationQueueTest, ReportsTheRealErrorOfALongOperationNotTheFlushesBehindIt) {
  const auto id = submitted(get_of(3 * gib));
  fake_->complete();
  fake_->fail(CompletionStatus::remote_operation_error);
  EXPECT_EQ(code_of(queue_->try_take(id).value().outcome), ErrorCode::remote_operation_error);
}

TEST_F(OperationQueueTest, KeepsWhatWasCarriedOutBeforeTheFailure) {
  const auto first = submitted(put_of(8));
  const auto second = submitted(put_of(8));
  fake_->complete();
  fake_->fail(CompletionStatus::retry_exceeded);
  EXPECT_TRUE(queue_->try_take(first).value().outcome);
  EXPECT_EQ(code_of(queue_->try_take(second).value().outcome), ErrorCode::retry_exceeded);
}

TEST_F(OperationQueueTest, EndsTheOthersWithQueuePairResetThatNamesTheCause) {
  make(2);
  submitted(put_of(8));
  const auto posted = submitted(get_of(16));
  const auto never_posted = submitted(put_of(32));
  fake_->fail(CompletionStatus::remote_access_error);
  const auto flushed = queue_->try_take(posted).value().outcome;
  ASSERT_EQ(code_of(flushed), ErrorCode::queue_pair_reset);
  EXPECT_THAT(flushed.error().message(),
              AllOf(HasSubstr("get of 16 bytes from worker b (soft0)"), HasSubstr("put of 8 bytes"),
                    HasSubstr("remote access error"), HasSubstr("request the queue pair again")));
  EXPECT_EQ(code_of(queue_->try_take(never_posted).value().outcome), ErrorCode::queue_pair_reset);
  EXPECT_EQ(fake_->posted().size(), 2U);
}

TEST_F(OperationQueueTest, IsResetWhenThePeerIsGoneWithoutAnErrorOfItsOwn) {
  const auto id = submitted(put_of(8));
  fake_->die();
  const auto outcome = queue_->try_take(id).value().outcome;
  ASSERT_EQ(code_of(outcome), ErrorCode::queue_pair_reset);
  EXPECT_THAT(outcome.error().message(), HasSubstr("the peer has closed it or is gone"));
}

TEST_F(OperationQueueTest, BeginsNothingMoreOnceItsQueuePairIsInError) {
  const auto id = submitted(put_of(8));
  fake_->fail(CompletionStatus::remote_access_error);
  ASSERT_TRUE(queue_->try_take(id));
  const auto run = queue_->run(put_of(8), no_deadline);
  ASSERT_EQ(code_of(run), ErrorCode::invalid_queue_pair_state);
  EXPECT_THAT(run.error().message(),
              AllOf(HasSubstr("worker b (soft0)"), HasSubstr("remote access error"),
                    HasSubstr("request the queue pair again")));
  EXPECT_EQ(queue_->submit(put_of(8)).error().code(), ErrorCode::invalid_queue_pair_state);
  EXPECT_EQ(fake_->posted().size(), 1U);
}

TEST_F(OperationQueueTest, TimesOutWhenAWorkRequestNeverCompletes) {
  const auto outcome = queue_->run(put_of(8), passed_deadline());
  ASSERT_EQ(code_of(outcome), ErrorCode::timeout);
  EXPECT_THAT(outcome.error().message(), HasSubstr("put of 8 bytes to worker b (soft0)"));
  EXPECT_EQ(fake_->state(), QueuePairState::error);
  EXPECT_EQ(fake_->outstanding(), 0U);
}

TEST_F(OperationQueueTest, ReturnsFromATimeoutOnlyOnceTheQueuePairIsDrained) {
  fake_->hold_flushes();
  std::atomic<bool> drained = false;
  auto drained_at_return = std::async(std::launch::async, [&] {
    EXPECT_EQ(code_of(queue_->run(put_of(2 * gib), passed_deadline())), ErrorCode::timeout);
    return drained.load();
  });
  fake_->wait_until_in_error();
  drained = true;
  fake_->release_flushes();
  EXPECT_TRUE(drained_at_return.get());
}

TEST_F(OperationQueueTest, IsNotTimedOutIfItCompletedWhileDraining) {
  fake_->hold_flushes();
  auto outcome = run_in_thread(put_of(8), passed_deadline());
  fake_->wait_until_in_error();
  fake_->complete();
  EXPECT_TRUE(outcome.get());
}

TEST_F(OperationQueueTest, ReportsItsOwnErrorRatherThanItsTimeout) {
  fake_->hold_flushes();
  auto outcome = run_in_thread(put_of(8), passed_deadline());
  fake_->wait_until_in_error();
  fake_->fail(CompletionStatus::retry_exceeded);
  EXPECT_EQ(code_of(outcome.get()), ErrorCode::retry_exceeded);
}

TEST_F(OperationQueueTest, ResetsTheOthersWhenOneTimesOut) {
  const auto done = submitted(put_of(1));
  const auto other = submitted(put_of(2));
  fake_->complete();
  EXPECT_EQ(code_of(queue_->run(put_of(3), passed_deadline())), ErrorCode::timeout);
  EXPECT_TRUE(queue_->try_take(done).value().outcome);
  const auto reset = queue_->try_take(other).value().outcome;
  ASSERT_EQ(code_of(reset), ErrorCode::queue_pair_reset);
  EXPECT_THAT(reset.error().message(), HasSubstr("put of 3 bytes"));
}

TEST_F(OperationQueueTest, TimesOutThoughItWasNeverPosted) {
  make(1);
  submitted(put_of(1));
  EXPECT_EQ(code_of(queue_->run(put_of(2), passed_deadline())), ErrorCode::timeout);
  EXPECT_EQ(fake_->posted().size(), 1U);
}

TEST_F(OperationQueueTest, PassesOnWhyTheQueuePairRefusesAPost) {
  fake_->refuse_post_after(0, Error{ErrorCode::invalid_queue_pair_state, "it is in INIT"});
  const auto outcome = queue_->run(put_of(8), no_deadline);
  ASSERT_EQ(code_of(outcome), ErrorCode::invalid_queue_pair_state);
  EXPECT_EQ(outcome.error().message(), "it is in INIT");
  EXPECT_EQ(fake_->pollers(), 0);
  fake_->complete_at_once();
  EXPECT_TRUE(queue_->run(put_of(8), no_deadline));
}

TEST_F(OperationQueueTest, WaitsForThePiecesThatWerePostedBeforeARefusal) {
  fake_->refuse_post_after(1, Error{ErrorCode::invalid_argument, "no more"});
  const auto id = submitted(put_of(3 * gib));
  EXPECT_FALSE(queue_->try_take(id));
  fake_->complete();
  const auto outcome = queue_->try_take(id).value().outcome;
  ASSERT_EQ(code_of(outcome), ErrorCode::invalid_argument);
  EXPECT_EQ(outcome.error().message(), "no more");
  EXPECT_EQ(fake_->posted().size(), 1U);
}

TEST_F(OperationQueueTest, TriesAgainAfterASendQueueThatWasFullerThanItSaid) {
  fake_->refuse_post_after(1, Error{ErrorCode::busy, "full"});
  const auto first = submitted(put_of(1));
  const auto second = submitted(put_of(2));
  EXPECT_EQ(fake_->posted().size(), 1U);
  fake_->complete();
  EXPECT_TRUE(queue_->try_take(first));
  EXPECT_EQ(fake_->posted().size(), 2U);
  fake_->complete();
  EXPECT_TRUE(queue_->try_take(second).value().outcome);
}

TEST_F(OperationQueueTest, EndsEverythingWithTheReasonOfAnAbort) {
  make(1);
  const auto posted = submitted(put_of(1));
  const auto never_posted = submitted(put_of(2));
  queue_->abort(Error{ErrorCode::stale_peer, "worker b has restarted"});
  for (const auto id : {posted, never_posted}) {
    const auto outcome = queue_->try_take(id).value().outcome;
    ASSERT_EQ(code_of(outcome), ErrorCode::stale_peer);
    EXPECT_EQ(outcome.error().message(), "worker b has restarted");
  }
  EXPECT_EQ(fake_->state(), QueuePairState::error);
  const auto refused = queue_->run(put_of(3), no_deadline);
  ASSERT_EQ(code_of(refused), ErrorCode::invalid_queue_pair_state);
  EXPECT_THAT(refused.error().message(), HasSubstr("worker b has restarted"));
}

TEST_F(OperationQueueTest, IsDestroyedWithWorkOutstanding) {
  make(1);
  submitted(put_of(gib));
  submitted(put_of(3 * gib));
  queue_.reset();
}

TEST_F(OperationQueueTest, LetsBlockedCallersGoBeforeItIsDestroyed) {
  make(2);
  std::vector<std::future<std::expected<void, Error>>> outcomes;
  for (int i = 0; i < 4; ++i) {
    outcomes.push_back(run_in_thread(put_of(8)));
  }
  fake_->wait_until_posted(2);
  queue_->abort(Error{ErrorCode::shutting_down, "the worker stops"});
  for (auto& outcome : outcomes) {
    const auto result = outcome.get();
    EXPECT_FALSE(result);
  }
  queue_.reset();
}

}  // namespace
}  // namespace danaus::transport::testing
