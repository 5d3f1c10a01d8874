#include "manager/transfer_operation.hpp"

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/post.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>

namespace danaus::manager {

TransferOperation::TransferOperation(std::shared_ptr<transport::OperationQueue> operations,
                                     transport::Operation operation, Clock::time_point deadline,
                                     asio::io_context& mailbox, asio::io_context& data)
    : operations_{std::move(operations)},
      operation_{operation},
      deadline_{deadline},
      mailbox_{mailbox},
      data_{data},
      done_{mailbox} {}

asio::awaitable<TransferOperation::Outcome> TransferOperation::run() {
  const std::shared_ptr<TransferOperation> self = shared_from_this();
  const auto keeps_running = asio::make_work_guard(mailbox_);
  asio::co_spawn(data_, carry_out_and_tell(self), asio::detached);
  while (!finished_) {
    co_await done_.wait_until(no_deadline);
  }
  co_return outcome_;
}

void TransferOperation::cancel(const Error& reason) {
  operations_->abort(reason);
}

asio::awaitable<void> TransferOperation::carry_out_and_tell(
    std::shared_ptr<TransferOperation> self) {
  try {
    co_await carry_out(self);
  } catch (const std::exception& failure) {
    outcome_ = std::unexpected{
        Error{ErrorCode::internal, fmt::format("the transfer failed: {}", failure.what())}};
  }
  asio::post(mailbox_, [self] {
    self->finished_ = true;
    self->done_.notify();
  });
}

asio::awaitable<void> TransferOperation::carry_out(std::shared_ptr<TransferOperation> self) {
  static_cast<void>(self);
  auto descriptor = open_descriptor();
  if (!descriptor) {
    outcome_ = std::unexpected{std::move(descriptor).error()};
    co_return;
  }
  const Clock::time_point start = Clock::now();
  const auto id = operations_->submit(operation_);
  if (!id) {
    outcome_ = std::unexpected{id.error()};
    co_return;
  }
  std::optional<transport::OperationResult> result = operations_->try_take(*id);
  while (!result && Clock::now() < deadline_) {
    operations_->arm();
    result = operations_->try_take(*id);
    if (!result) {
      co_await sleep(*descriptor);
      result = operations_->try_take(*id);
    }
  }
  // Past the deadline `wait` does not wait: it moves the queue pair to ERR and drains it, so that
  // nothing touches the memory when the Timeout is reported.
  const transport::OperationResult ended =
      result ? *std::move(result) : operations_->wait_for_result(*id, deadline_);
  if (ended.outcome) {
    outcome_ = OperationDone{.taken = Clock::now() - start, .value = ended.value};
  } else {
    outcome_ = std::unexpected{ended.outcome.error()};
  }
}

asio::awaitable<void> TransferOperation::sleep(asio::posix::stream_descriptor& descriptor) {
  // The timer cancels the wait; both ends of that live in the timer's own handler, so that a
  // handler that is late finds nothing to touch.
  const auto waiting = std::make_shared<asio::posix::stream_descriptor*>(&descriptor);
  asio::steady_timer timer{data_, deadline_};
  timer.async_wait([waiting](const std::error_code& failure) {
    if (!failure && *waiting != nullptr) {
      (*waiting)->cancel();
    }
  });
  std::error_code woken;
  auto token = asio::redirect_error(asio::use_awaitable, woken);
  co_await descriptor.async_wait(asio::posix::stream_descriptor::wait_read, token);
  *waiting = nullptr;
}

std::expected<asio::posix::stream_descriptor, Error> TransferOperation::open_descriptor() {
  // Its own copy: one descriptor can be in an epoll set but once, and several transfers may share a
  // queue pair.
  const int copy = fcntl(operations_->fd(), F_DUPFD_CLOEXEC, 0);
  if (copy < 0) {
    return std::unexpected{
        Error{ErrorCode::resource_exhausted,
              fmt::format("the transfer cannot wait for its queue pair: duplicating its descriptor "
                          "failed: {}; raise the limit of open files",
                          std::generic_category().message(errno))}};
  }
  return asio::posix::stream_descriptor{data_, copy};
}

}  // namespace danaus::manager
