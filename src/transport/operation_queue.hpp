// OperationQueue: puts and gets of any length over one queue pair of any transport. Splits them
// into work requests, keeps within the send queue, matches completions, holds deadlines. Any
// thread, several at once: one waiter polls, the others sleep until their operation is done.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "messages/error.hpp"
#include "transport/transport.hpp"

namespace danaus::transport {

using Clock = std::chrono::steady_clock;

/// One put (rdma_write) or get (rdma_read) of any length.
struct Operation {
  Opcode opcode = Opcode::rdma_write;
  std::uint64_t local_address = 0;
  std::uint64_t lkey = 0;
  std::uint64_t remote_address = 0;
  std::uint64_t rkey = 0;
  /// In bytes; 0 completes, also at a buffer's very end.
  std::uint64_t length = 0;
};

using OperationId = std::uint64_t;

/// How an operation ended. The error is the first real one, not the flush behind it: an operation
/// that fell with another's failure ends with QueuePairReset.
struct OperationResult {
  OperationId id = 0;
  std::expected<void, Error> outcome;
};

class OperationQueue {
 public:
  /// `peer` names the other end in error messages, e.g. "worker b (soft0)".
  OperationQueue(std::unique_ptr<QueuePair> queue_pair, std::string peer);
  OperationQueue(const OperationQueue&) = delete;
  OperationQueue& operator=(const OperationQueue&) = delete;
  ~OperationQueue();

  [[nodiscard]] QueuePair& queue_pair() noexcept;
  [[nodiscard]] const QueuePair& queue_pair() const noexcept;

  /// Carries out one operation and returns when it is over. Past `deadline` the queue pair goes to
  /// ERR and is drained; only then Timeout is returned, and nothing touches the memory afterwards.
  /// Errors: as the completion status says, Timeout, QueuePairReset, InvalidQueuePairState.
  std::expected<void, Error> run(const Operation& operation, Clock::time_point deadline);

  /// Starts an operation without waiting; what the send queue cannot take now is posted as others
  /// complete. Its result comes from `poll`. Errors: InvalidQueuePairState, InvalidArgument.
  std::expected<OperationId, Error> submit(const Operation& operation);

  /// Takes results of submitted operations, oldest first, driving progress. Never waits.
  std::size_t poll(std::span<OperationResult> results);

  /// Takes the result of one submitted operation if it is over, driving progress. Never waits.
  std::optional<OperationResult> try_take(OperationId id);

  /// Drops the result of a submitted operation, which goes on if it is not over: nobody takes it
  /// any more. An unknown id: nothing happens.
  void discard(OperationId id);

  /// Waits for one submitted operation; as `run` from there on.
  std::expected<void, Error> wait(OperationId id, Clock::time_point deadline);

  /// Readable when armed and `poll` or `try_take` may have something to do; arm, look once more,
  /// then sleep on it.
  [[nodiscard]] int fd() const noexcept;
  void arm();

  /// Moves the queue pair to ERR: everything outstanding ends, `reason` is its error.
  void abort(const Error& reason);

  /// Operations completed successfully, and their bytes.
  [[nodiscard]] std::uint64_t completed_operations() const noexcept;
  [[nodiscard]] std::uint64_t completed_bytes() const noexcept;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace danaus::transport
