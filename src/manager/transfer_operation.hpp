// TransferOperation: one operation that the manager runs for another process, on the `data` thread:
// a coroutine that submits, sleeps on the queue pair's fd, and ends by the deadline. Never blocks.
#pragma once

#include <atomic>
#include <chrono>
#include <expected>
#include <memory>
#include <optional>

#include <asio/awaitable.hpp>
#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/steady_timer.hpp>

#include "manager/signal.hpp"
#include "messages/error.hpp"
#include "transport/operation_queue.hpp"

namespace danaus::manager {

/// What came of an operation.
struct OperationDone {
  /// From submission to completion.
  std::chrono::duration<double> taken{};
  /// Of an atomic.
  std::uint64_t value = 0;
};

/// Shared by the coroutine on `data` and the one that awaits it on `mailbox`: either may end first.
class TransferOperation : public std::enable_shared_from_this<TransferOperation> {
 public:
  using Done = OperationDone;
  using Outcome = std::expected<Done, Error>;

  TransferOperation(std::shared_ptr<transport::OperationQueue> operations,
                    transport::Operation operation, Clock::time_point deadline,
                    asio::io_context& mailbox, asio::io_context& data);
  TransferOperation(const TransferOperation&) = delete;
  TransferOperation& operator=(const TransferOperation&) = delete;
  ~TransferOperation() = default;

  /// Carries it out. `mailbox` thread, once.
  asio::awaitable<Outcome> run();

  /// Ends it with `reason`; its queue pair goes to ERR. Any thread.
  void cancel(const Error& reason);

 private:
  asio::awaitable<void> carry_out(std::shared_ptr<TransferOperation> self);
  asio::awaitable<void> carry_out_and_tell(std::shared_ptr<TransferOperation> self);
  /// Until the queue pair has something to look at, or the deadline.
  asio::awaitable<void> sleep(asio::posix::stream_descriptor& descriptor);
  std::expected<asio::posix::stream_descriptor, Error> open_descriptor();

  std::shared_ptr<transport::OperationQueue> operations_;
  transport::Operation operation_;
  Clock::time_point deadline_;
  asio::io_context& mailbox_;
  asio::io_context& data_;
  /// Written on `data`, read on `mailbox` once `finished_`.
  Outcome outcome_;
  Signal done_;
  bool finished_ = false;
};

}  // namespace danaus::manager
