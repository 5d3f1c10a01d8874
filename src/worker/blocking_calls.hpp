// BlockingCalls: lets any thread run a coroutine on the `mailbox` thread and wait for its result,
// with a deadline, and ends all such waits when the mailbox goes away. Any thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <expected>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>

#include "messages/error.hpp"
#include "worker/deadline.hpp"

namespace danaus::worker {

/// How much longer than its deadline a caller waits for the coroutine, which holds the deadline
/// itself and words a better error.
inline constexpr std::chrono::milliseconds call_grace{2'000};

/// The waiting end of one call, whatever its result.
class BlockingCall {
 public:
  virtual ~BlockingCall() = default;
  /// The caller stops waiting, with this error.
  virtual void end(const Error& reason);

 protected:
  BlockingCall() = default;
  BlockingCall(const BlockingCall&) = delete;
  BlockingCall& operator=(const BlockingCall&) = delete;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Error> ended_;
};

/// `Result` is a std::expected<…, Error>.
template <class Result>
class TypedCall final : public BlockingCall {
 public:
  /// Gives the result back where nobody waits for it any more.
  [[nodiscard]] std::optional<Result> deliver(Result result) {
    const std::lock_guard lock{mutex_};
    if (ended_) {
      return result;
    }
    result_ = std::move(result);
    changed_.notify_all();
    return std::nullopt;
  }

  [[nodiscard]] Result wait(Clock::time_point deadline, std::string_view what);

 private:
  std::optional<Result> result_;
};

/// What came out of a coroutine by way of an exception.
[[nodiscard]] Error error_of(const std::exception_ptr& exception);
[[nodiscard]] Error no_answer_error(std::string_view what);

class BlockingCalls {
 public:
  /// Keeps a call known to `end_all` while its caller waits.
  class Membership {
   public:
    Membership(BlockingCalls& calls, BlockingCall& call);
    Membership(const Membership&) = delete;
    Membership& operator=(const Membership&) = delete;
    ~Membership();

   private:
    BlockingCalls& calls_;
    BlockingCall& call_;
  };

  /// Runs `work` on `context` and waits until `deadline` and a grace. `what` names it in errors. A
  /// result that comes when nobody waits any more goes to `unclaimed`, on the thread of `context`.
  /// Errors besides those of `work`: Timeout; InvalidArgument on the thread of `context` itself,
  /// which would wait for itself; the reason of `end_all`.
  template <class Result>
  [[nodiscard]] Result run(asio::io_context& context, asio::awaitable<Result> work,
                           Clock::time_point deadline, std::string_view what,
                           std::function<void(Result)> unclaimed = {});

  /// Runs `work` on `context` and does not wait: its result goes to `done`, on the thread of
  /// `context`. Errors: InvalidArgument and the reason of `end_all`, as `run`; nothing runs then.
  template <class Result>
  [[nodiscard]] std::expected<void, Error> start(asio::io_context& context,
                                                 asio::awaitable<Result> work,
                                                 std::string_view what,
                                                 std::function<void(Result)> done);

  /// Ends every wait, those to come included, with `reason`. The first reason stays.
  void end_all(const Error& reason);

  /// Coroutines that have not ended yet.
  [[nodiscard]] std::size_t running() const noexcept { return running_; }

 private:
  [[nodiscard]] std::optional<Error> refuse(asio::io_context& context, std::string_view what);

  template <class Result>
  void spawn(asio::io_context& context, asio::awaitable<Result> work,
             std::function<void(Result)> done);

  std::mutex mutex_;
  std::set<BlockingCall*> waiting_;
  std::optional<Error> reason_;
  std::atomic<std::size_t> running_{0};
};

template <class Result>
Result TypedCall<Result>::wait(Clock::time_point deadline, std::string_view what) {
  std::unique_lock lock{mutex_};
  changed_.wait_until(lock, deadline, [this] { return result_ || ended_; });
  if (result_) {
    return *std::move(result_);
  }
  if (!ended_) {
    ended_ = no_answer_error(what);
  }
  return std::unexpected{*ended_};
}

template <class Result>
Result BlockingCalls::run(asio::io_context& context, asio::awaitable<Result> work,
                          Clock::time_point deadline, std::string_view what,
                          std::function<void(Result)> unclaimed) {
  if (auto refusal = refuse(context, what)) {
    return std::unexpected{*std::move(refusal)};
  }
  // Shared: the caller may stop waiting before the coroutine ends.
  auto call = std::make_shared<TypedCall<Result>>();
  const Membership membership{*this, *call};
  spawn<Result>(context, std::move(work), [call, unclaimed = std::move(unclaimed)](Result result) {
    auto left_over = call->deliver(std::move(result));
    if (left_over && unclaimed) {
      unclaimed(*std::move(left_over));
    }
  });
  return call->wait(deadline + call_grace, what);
}

template <class Result>
std::expected<void, Error> BlockingCalls::start(asio::io_context& context,
                                                asio::awaitable<Result> work, std::string_view what,
                                                std::function<void(Result)> done) {
  if (auto refusal = refuse(context, what)) {
    return std::unexpected{*std::move(refusal)};
  }
  spawn<Result>(context, std::move(work), std::move(done));
  return {};
}

template <class Result>
void BlockingCalls::spawn(asio::io_context& context, asio::awaitable<Result> work,
                          std::function<void(Result)> done) {
  ++running_;
  asio::co_spawn(
      context, std::move(work),
      [this, done = std::move(done)](const std::exception_ptr& exception, Result result) {
        if (exception) {
          result = std::unexpected{error_of(exception)};
        }
        done(std::move(result));
        --running_;
      });
}

}  // namespace danaus::worker
