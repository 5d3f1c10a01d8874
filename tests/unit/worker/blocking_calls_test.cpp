#include "worker/blocking_calls.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <stdexcept>
#include <thread>

#include <asio/executor_work_guard.hpp>
#include <asio/post.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>

#include "test_workers.hpp"

namespace danaus::worker {
namespace {

using danaus::testing::code_name;
using danaus::testing::patience;
using ::testing::HasSubstr;

using Result = std::expected<int, Error>;

const Error shutting_down{ErrorCode::shutting_down, "the worker ends"};

class BlockingCallsTest : public ::testing::Test {
 protected:
  void TearDown() override {
    work_.reset();
    context_.stop();
    thread_.join();
  }

  asio::awaitable<Result> value(int number) { co_return number; }

  asio::awaitable<Result> error() { co_return std::unexpected{shutting_down}; }

  asio::awaitable<Result> thrown(std::exception_ptr exception) {
    std::rethrow_exception(exception);
    co_return 0;
  }

  /// Ends when the test says so.
  asio::awaitable<Result> gated() {
    started_.set_value();
    std::error_code ignored;
    co_await gate_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    co_return 7;
  }

  Result run(asio::awaitable<Result> work) {
    return calls_.run(context_, std::move(work), deadline_after(patience), "the call");
  }

  asio::io_context context_;
  /// Outlives the thread, on which a coroutine may still come to it when its caller has gone.
  asio::steady_timer gate_{context_, asio::steady_timer::time_point::max()};
  asio::executor_work_guard<asio::io_context::executor_type> work_{context_.get_executor()};
  std::promise<void> started_;
  BlockingCalls calls_;
  std::thread thread_{[this] { context_.run(); }};
};

TEST_F(BlockingCallsTest, ReturnsWhatTheCoroutineReturns) {
  EXPECT_EQ(run(value(5)), 5);
  EXPECT_EQ(run(error()).error(), shutting_down);
}

TEST_F(BlockingCallsTest, TurnsExceptionsIntoErrors) {
  EXPECT_EQ(run(thrown(std::make_exception_ptr(shutting_down))).error(), shutting_down);
  const auto unexpected = run(thrown(std::make_exception_ptr(std::runtime_error{"broken"})));
  ASSERT_FALSE(unexpected);
  EXPECT_EQ(code_name(unexpected.error()), "Internal");
  EXPECT_THAT(unexpected.error().message(), HasSubstr("broken"));
  EXPECT_EQ(code_name(run(thrown(std::make_exception_ptr(1))).error()), "Internal");
}

TEST_F(BlockingCallsTest, RefusesToWaitOnTheThreadThatWouldHaveToAnswer) {
  std::promise<Result> refused;
  asio::post(context_, [this, &refused] { refused.set_value(run(value(5))); });
  const Result result = refused.get_future().get();
  ASSERT_FALSE(result);
  EXPECT_EQ(code_name(result.error()), "InvalidArgument");
  EXPECT_THAT(result.error().message(), HasSubstr("mailbox thread"));
}

TEST_F(BlockingCallsTest, EndsTheWaitsOfAllCallersAtOnce) {
  auto waiting = std::async(std::launch::async, [&] { return run(gated()); });
  started_.get_future().wait();
  calls_.end_all(shutting_down);
  EXPECT_EQ(waiting.get().error(), shutting_down);
  EXPECT_EQ(run(value(5)).error(), shutting_down) << "those that come later end, too";
}

TEST_F(BlockingCallsTest, HandsOverAResultThatNobodyWaitsForAnyMore) {
  std::promise<Result> unclaimed;
  auto waiting = std::async(std::launch::async, [&] {
    return calls_.run<Result>(context_, gated(), deadline_after(patience), "the call",
                              [&unclaimed](Result result) { unclaimed.set_value(result); });
  });
  started_.get_future().wait();
  EXPECT_EQ(calls_.running(), 1U);
  calls_.end_all(shutting_down);
  EXPECT_FALSE(waiting.get());
  asio::post(context_, [this] { gate_.cancel(); });
  EXPECT_EQ(unclaimed.get_future().get(), 7);
}

TEST_F(BlockingCallsTest, EndsByItsDeadlineWhenTheThreadGivesNoAnswer) {
  std::promise<void> release;
  asio::post(context_, [&release] { release.get_future().wait(); });
  const auto result =
      calls_.run(context_, value(5), Clock::now() - call_grace, "the call that hangs");
  release.set_value();
  ASSERT_FALSE(result);
  EXPECT_EQ(code_name(result.error()), "Timeout");
  EXPECT_THAT(result.error().message(), HasSubstr("the call that hangs"));
}

}  // namespace
}  // namespace danaus::worker
