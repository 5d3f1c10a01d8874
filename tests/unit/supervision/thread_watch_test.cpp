#include "supervision/thread_watch.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

namespace danaus::supervision {
namespace {

using namespace std::chrono_literals;

/// The id of a thread that has been and is no more.
int id_of_a_dead_thread() {
  int thread_id = 0;
  std::thread{[&thread_id] { thread_id = gettid(); }}.join();
  return thread_id;
}

class ThreadWatchTest : public ::testing::Test {
 protected:
  static constexpr auto interval = 1s;

  ThreadWatchTest() {
    vitals_->name = "mailbox";
    vitals_->thread_id = gettid();
  }

  std::optional<Failure> tick(ThreadWatch& watch) {
    now_ += interval;
    return watch.tick(now_);
  }

  /// The first failure within many ticks.
  std::optional<Failure> tick_for_long(ThreadWatch& watch) {
    for (int count = 0; count < 100; ++count) {
      if (auto failure = tick(watch)) {
        return failure;
      }
    }
    return std::nullopt;
  }

  std::shared_ptr<ThreadVitals> vitals_ = std::make_shared<ThreadVitals>();
  WatchdogCounter::Clock::time_point now_{100s};
};

TEST_F(ThreadWatchTest, NamesTheThreadThatStalled) {
  ThreadWatch watch{vitals_, interval};
  const auto failure = tick_for_long(watch);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->component, "mailbox");
  EXPECT_NE(failure->reason.find("no sign of life"), std::string::npos) << failure->reason;
  EXPECT_TRUE(watch.over());
}

TEST_F(ThreadWatchTest, LetsAThreadThatMayBlockBeSilent) {
  vitals_->watch = Watch::death;
  ThreadWatch watch{vitals_, interval};
  EXPECT_FALSE(tick_for_long(watch));
  EXPECT_FALSE(watch.over());
}

TEST_F(ThreadWatchTest, FindsADeadThreadAtTheFirstTick) {
  for (const Watch kind : {Watch::stall, Watch::death}) {
    vitals_->watch = kind;
    vitals_->thread_id = id_of_a_dead_thread();
    ThreadWatch watch{vitals_, interval};
    const auto failure = tick(watch);
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->component, "mailbox");
    EXPECT_NE(failure->reason.find("died without a word"), std::string::npos) << failure->reason;
  }
}

TEST_F(ThreadWatchTest, TellsAFailureOnce) {
  vitals_->thread_id = id_of_a_dead_thread();
  ThreadWatch watch{vitals_, interval};
  EXPECT_TRUE(tick(watch));
  EXPECT_FALSE(tick_for_long(watch));
}

TEST_F(ThreadWatchTest, IsOverWhenTheThreadEndsAsItShould) {
  vitals_->thread_id = id_of_a_dead_thread();
  vitals_->ended = true;
  ThreadWatch watch{vitals_, interval};
  EXPECT_FALSE(tick_for_long(watch));
  EXPECT_TRUE(watch.over());
}

TEST_F(ThreadWatchTest, TakesAThreadThatHasNotStartedForNeitherDeadNorDone) {
  vitals_->thread_id = 0;
  ThreadWatch watch{vitals_, interval};
  EXPECT_FALSE(tick(watch));
  EXPECT_FALSE(watch.over());
}

}  // namespace
}  // namespace danaus::supervision
