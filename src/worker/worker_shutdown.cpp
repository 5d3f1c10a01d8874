// The end of a WorkerCore: drain, end the threads, take apart.
#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>

#include <asio/co_spawn.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>

#include "worker/worker_core.hpp"

namespace danaus::worker {

namespace {

/// How long requests that are being handled may take once the worker ends.
constexpr std::chrono::milliseconds drain_patience{2'000};
/// How long giving up queue pairs, memory and domains may take after that.
constexpr std::chrono::milliseconds tear_down_patience{10'000};
/// How long a thread may take to finish what is left for it.
constexpr std::chrono::milliseconds thread_patience{2'000};
/// How often to look whether the coroutines of calls have ended.
constexpr std::chrono::milliseconds look_interval{2};

}  // namespace

bool WorkerCore::stop() {
  end_calls();
  const bool drained = drain_and_wait();
  threads_->expect_responders_to_end();
  engine_->stop();
  if (!drained) {
    return false;
  }
  threads_->join_responders(thread_patience);
  threads_->join_device_work(thread_patience);
  threads_->join_data(thread_patience);
  threads_->join_mailbox(thread_patience);
  down_ = true;
  return true;
}

/// Nobody should be in a call any more; who is, leaves with an error.
void WorkerCore::end_calls() {
  const Error reason{ErrorCode::shutting_down,
                     fmt::format("the worker {} is shutting down", config_.identity)};
  gate_.close(reason);
  calls_.end_all(reason);
  while (!gate_.wait_until_empty(drain_patience)) {
    for (const auto& operations : connections_.take_all()) {
      operations->abort(reason);
    }
  }
}

bool WorkerCore::drain_and_wait() {
  using enum WorkerThreads::MailboxThread;
  const auto mailbox_thread = threads_->mailbox_thread();
  if (mailbox_thread != running) {
    return mailbox_thread == ended && drain_here();
  }
  // One that has stalled, which the supervisor may have found, gets no long hearing.
  const auto patience =
      supervisor_->failed() ? drain_patience : 2 * drain_patience + tear_down_patience;
  const auto drained =
      shutdown_call_.run(mailbox_->context(), drain(), Clock::now() + patience, "shutting down");
  if (!drained) {
    spdlog::error("{} did not shut down in good order: {}", config_.identity,
                  drained.error().message());
  }
  return drained.has_value();
}

/// The mailbox thread has failed and ended: this thread takes its place, so that its ports and
/// memory are released.
bool WorkerCore::drain_here() {
  threads_->join_mailbox(std::chrono::milliseconds{0});
  bool drained = false;
  asio::io_context& context = mailbox_->context();
  const auto done = [&drained](const std::exception_ptr& exception,
                               const std::expected<void, Error>& result) {
    drained = !exception && result.has_value();
  };
  asio::co_spawn(context, drain(), done);
  context.restart();
  const auto deadline = Clock::now() + 2 * drain_patience + tear_down_patience;
  try {
    while (!drained && context.run_one_until(deadline) > 0) {
    }
  } catch (const std::exception& error) {
    spdlog::error("{} failed again while it was taken apart: {}", config_.identity, error.what());
    return false;
  }
  return drained;
}

asio::awaitable<std::expected<void, Error>> WorkerCore::drain() {
  auto shutting_down = mailbox_->shut_down(drain_patience);
  co_await std::move(shutting_down);
  // Calls whose callers have left: their own requests have ended by now, device work takes its
  // time.
  asio::steady_timer pause{mailbox_->context()};
  const auto until = Clock::now() + drain_patience;
  while (calls_.running() > 0 && Clock::now() < until) {
    pause.expires_after(look_interval);
    co_await pause.async_wait(asio::use_awaitable);
  }
  auto tearing_down = manager_->tear_down();
  co_await std::move(tearing_down);
  co_return std::expected<void, Error>{};
}

/// In the reverse of the order of building. What the manager and the mailbox's coroutines leave to
/// `device-work`, whose threads have ended, is done here.
void WorkerCore::take_apart() {
  threads_.reset();
  manager_.reset();
  finish_device_work();
  mailbox_.reset();
  finish_device_work();
  engine_.reset();
  data_.reset();
  device_work_.reset();
  supervisor_.reset();
}

void WorkerCore::finish_device_work() {
  device_work_->restart();
  device_work_->poll();
}

}  // namespace danaus::worker
