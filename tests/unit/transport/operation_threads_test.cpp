// Several threads on one operation queue: one polls, the others sleep, nobody is forgotten.
#include <thread>
#include <vector>

#include "tests/unit/transport/operation_queue_fixture.hpp"

namespace danaus::transport::testing {
namespace {

using ::testing::HasSubstr;

TEST_F(OperationQueueTest, WakesASleepingWaiter) {
  auto outcome = run_in_thread(put_of(1U << 20U));
  fake_->wait_until_armed();
  fake_->complete();
  EXPECT_TRUE(outcome.get());
}

TEST_F(OperationQueueTest, HandsTheLeadOnWhenTheLeaderIsServed) {
  auto first = run_in_thread(put_of(1));
  fake_->wait_until_posted(1);
  auto second = run_in_thread(put_of(2));
  fake_->wait_until_posted(2);
  auto third = run_in_thread(put_of(3));
  fake_->wait_until_posted(3);
  fake_->complete();
  EXPECT_TRUE(first.get());
  fake_->complete();
  EXPECT_TRUE(second.get());
  fake_->complete();
  EXPECT_TRUE(third.get());
}

TEST_F(OperationQueueTest, ServesAFollowerBeforeItsLeader) {
  const auto long_one = submitted(put_of(1));
  const auto short_one = submitted(put_of(2));
  auto leader =
      std::async(std::launch::async, [&] { return queue_->wait(short_one, no_deadline); });
  fake_->wait_until_armed();
  auto follower =
      std::async(std::launch::async, [&] { return queue_->wait(long_one, no_deadline); });
  fake_->complete();
  EXPECT_TRUE(follower.get());
  fake_->complete();
  EXPECT_TRUE(leader.get());
}

TEST_F(OperationQueueTest, HoldsEachWaitersOwnDeadline) {
  auto leader = run_in_thread(put_of(1));
  fake_->wait_until_armed();
  // The follower's deadline ends the leader's operation too, though that one has all the time.
  EXPECT_EQ(code_of(queue_->run(put_of(2), Clock::now())), ErrorCode::timeout);
  const auto reset = leader.get();
  ASSERT_EQ(code_of(reset), ErrorCode::queue_pair_reset);
  EXPECT_THAT(reset.error().message(), HasSubstr("put of 2 bytes"));
}

TEST_F(OperationQueueTest, LetsManyThreadsShareOneQueuePair) {
  constexpr int threads = 8;
  constexpr int operations = 500;
  make(4);
  std::atomic<int> succeeded = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < threads; ++i) {
    callers.emplace_back([&] {
      for (int j = 0; j < operations; ++j) {
        succeeded += queue_->run(put_of(8), no_deadline) ? 1 : 0;
      }
    });
  }
  for (std::size_t i = 1; i <= std::size_t{threads} * operations; ++i) {
    fake_->wait_until_posted(i);
    fake_->complete();
  }
  for (auto& caller : callers) {
    caller.join();
  }
  EXPECT_EQ(succeeded, threads * operations);
  EXPECT_LE(fake_->most_outstanding(), 4U);
  EXPECT_EQ(fake_->pollers(), 0);
}

TEST_F(OperationQueueTest, EndsAllThreadsWhenTheQueuePairDies) {
  make(2);
  std::vector<std::future<std::expected<void, Error>>> outcomes;
  for (int i = 0; i < 6; ++i) {
    outcomes.push_back(run_in_thread(put_of(8)));
  }
  fake_->wait_until_posted(2);
  fake_->die();
  for (auto& outcome : outcomes) {
    EXPECT_FALSE(outcome.get());
  }
}

TEST_F(OperationQueueTest, MixesBlockingAndSubmittedOperations) {
  constexpr int operations = 500;
  fake_->complete_at_once();
  std::atomic<int> succeeded = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < 2; ++i) {
    callers.emplace_back([&] {
      for (int j = 0; j < operations; ++j) {
        succeeded += queue_->run(put_of(8), no_deadline) ? 1 : 0;
      }
    });
    callers.emplace_back([&] {
      for (int j = 0; j < operations; ++j) {
        const auto id = submitted(get_of(8));
        for (;;) {
          queue_->arm();
          if (const auto result = queue_->try_take(id)) {
            succeeded += result->outcome ? 1 : 0;
            break;
          }
          sleep_on(queue_->fd());
        }
      }
    });
  }
  for (auto& caller : callers) {
    caller.join();
  }
  EXPECT_EQ(succeeded, 4 * operations);
}

}  // namespace
}  // namespace danaus::transport::testing
