#include "supervision/supervisor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <fstream>
#include <future>
#include <stdexcept>

#include <asio/post.hpp>

#include "tests/forgiven_leaks.hpp"

namespace danaus::supervision {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

// A bound on hangs, not on speed.
constexpr auto patience = 30s;

/// A supervisor whose hook hands the failure to the test.
class SupervisorTest : public ::testing::Test {
 protected:
  SupervisorConfig config() {
    return {.identity = "worker-a",
            .watchdog_timeout = 200ms,
            .on_failure = [this](const Failure& failure) { told_.set_value(failure); }};
  }

  Failure failure() {
    auto told = told_.get_future();
    if (told.wait_for(patience) != std::future_status::ready) {
      ADD_FAILURE() << "no failure was reported";
      return {};
    }
    return told.get();
  }

  std::promise<Failure> told_;
  asio::io_context context_;
};

TEST_F(SupervisorTest, ReportsAnExceptionThatEscapesFromALoop) {
  Supervisor supervisor{config()};
  const auto thread = supervisor.start("mailbox", context_, Watch::stall);
  asio::post(context_, [] { throw std::runtime_error{"the table is broken"}; });
  const Failure told = failure();
  EXPECT_EQ(told.component, "mailbox");
  EXPECT_EQ(told.reason, "the table is broken");
  EXPECT_TRUE(supervisor.failed());
}

TEST_F(SupervisorTest, ReportsALoopThatEndsUnasked) {
  Supervisor supervisor{config()};
  const auto thread = supervisor.start("data", context_, Watch::stall);
  context_.stop();
  const Failure told = failure();
  EXPECT_EQ(told.component, "data");
  EXPECT_THAT(told.reason, HasSubstr("although nobody stopped it"));
}

TEST_F(SupervisorTest, ReportsAThreadThatStalls) {
  std::promise<void> release;
  Supervisor supervisor{config()};
  const auto thread = supervisor.start("responder-1", context_, Watch::stall);
  asio::post(context_, [released = release.get_future().share()] { released.wait(); });
  const Failure told = failure();
  EXPECT_EQ(told.component, "responder-1");
  EXPECT_THAT(told.reason, HasSubstr("no sign of life"));
  release.set_value();
}

TEST_F(SupervisorTest, ReportsAThreadThatIsGoneWithoutAWord) {
  danaus::testing::forgive_leaks();
  Supervisor supervisor{config()};
  const auto thread = supervisor.start("device-work-0", context_, Watch::death);
  asio::post(context_, [] { ::syscall(SYS_exit, 0); });
  const Failure told = failure();
  EXPECT_EQ(told.component, "device-work-0");
  EXPECT_THAT(told.reason, HasSubstr("died without a word"));
}

TEST_F(SupervisorTest, ReportsAThreadThatIsCancelled) {
  Supervisor supervisor{config()};
  const auto thread = supervisor.start("data", context_, Watch::stall);
  asio::post(context_, [] { pthread_exit(nullptr); });
  EXPECT_EQ(failure().reason, "the thread was cancelled");
}

TEST_F(SupervisorTest, TellsTheFirstFailureOnly) {
  Supervisor supervisor{config()};
  supervisor.fail({"soft0", "first"});
  supervisor.fail({"mailbox", "second"});
  EXPECT_EQ(failure().reason, "first");
  // A second call of the hook would throw from the promise and end the test.
}

TEST_F(SupervisorTest, IsSilentAboutAThreadThatEndsAsAsked) {
  bool told = false;
  {
    SupervisorConfig quiet = config();
    quiet.on_failure = [&told](const Failure&) { told = true; };
    Supervisor supervisor{quiet};
    auto thread = supervisor.start("mailbox", context_, Watch::stall);
    thread->join(patience);
    EXPECT_TRUE(thread->vitals()->ended);
    EXPECT_FALSE(supervisor.failed());
  }
  EXPECT_FALSE(told);
}

TEST_F(SupervisorTest, FinishesTheWorkThatIsLeftBeforeAThreadEnds) {
  Supervisor supervisor{config()};
  auto thread = supervisor.start("mailbox", context_, Watch::stall);
  int done = 0;
  asio::post(context_, [this, &done] { asio::post(context_, [&done] { ++done; }); });
  thread->join(patience);
  EXPECT_EQ(done, 1);
}

TEST_F(SupervisorTest, StopsALoopThatHasNoEndWhenPatienceIsOver) {
  Supervisor supervisor{config()};
  auto thread = supervisor.start("data", context_, Watch::stall);
  const auto work = asio::make_work_guard(context_);
  thread->join(0s);
  EXPECT_TRUE(thread->vitals()->ended);
  EXPECT_FALSE(supervisor.failed());
}

TEST_F(SupervisorTest, NamesItsThreadsAndKeepsSignalsFromThem) {
  Supervisor supervisor{config()};
  const auto thread = supervisor.start("device-work-1", context_, Watch::death);
  std::promise<std::pair<std::string, sigset_t>> seen;
  asio::post(context_, [&seen] {
    std::array<char, 16> name{};
    pthread_getname_np(pthread_self(), name.data(), name.size());
    sigset_t mask{};
    pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    seen.set_value({name.data(), mask});
  });
  const auto [name, mask] = seen.get_future().get();
  EXPECT_EQ(name, "device-work-1");
  for (const int blocked : {SIGTERM, SIGINT, SIGHUP, SIGCHLD, SIGPIPE, SIGUSR1}) {
    EXPECT_EQ(sigismember(&mask, blocked), 1) << blocked;
  }
  EXPECT_EQ(sigismember(&mask, SIGSEGV), 0);
  sigset_t own{};
  pthread_sigmask(SIG_BLOCK, nullptr, &own);
  EXPECT_EQ(sigismember(&own, SIGTERM), 0) << "the mask of the starting thread must be restored";
}

/// Never returns: the supervisor ends the process.
[[noreturn]] void fail_under(std::function<void(const Failure&)> hook) {
  Supervisor supervisor{
      {.identity = "worker-a", .watchdog_timeout = 10s, .on_failure = std::move(hook)}};
  supervisor.fail({"mailbox", "the table is broken"});
  for (;;) {
    ::pause();
  }
}

TEST(SupervisorDeathTest, EndsTheProcessWithOneLineWhereThereIsNoHook) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(fail_under({}), ::testing::ExitedWithCode(1),
              "^\\{\"level\":\"critical\",\"event\":\"worker_failed\",\"component\":\"mailbox\","
              "\"identity\":\"worker-a\",\"time\":\"[0-9T:.-]+Z\","
              "\"reason\":\"the table is broken\"\\}\n$");
}

TEST(SupervisorDeathTest, EndsTheProcessWhenTheHookThrows) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(fail_under([](const Failure&) { throw std::logic_error{"hook"}; }),
              ::testing::ExitedWithCode(1), "the table is broken");
}

}  // namespace
}  // namespace danaus::supervision
