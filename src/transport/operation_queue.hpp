// OperationQueue: puts and gets of any length, atomics and receives over one queue pair of any
// transport. Splits them into work requests, keeps within the send queue, matches completions,
// holds deadlines. Any thread, several at once: one waiter polls, the others sleep until their
// operation is done.
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
#include "transport/atomic_results.hpp"
#include "transport/transport.hpp"

namespace danaus::transport {

using Clock = std::chrono::steady_clock;

/// One put (rdma_write) or get (rdma_read) of any length, one atomic, or one receive.
struct Operation {
  Opcode opcode = Opcode::rdma_write;
  /// Not of an atomic, whose value comes with its result.
  std::uint64_t local_address = 0;
  std::uint64_t lkey = 0;
  std::uint64_t remote_address = 0;
  std::uint64_t rkey = 0;
  /// In bytes; 0 completes, also at a buffer's very end.
  std::uint64_t length = 0;
  /// As in WorkRequest.
  std::uint64_t compare_add = 0;
  std::uint64_t swap = 0;
  std::uint32_t immediate = 0;
  /// Waits for the peer's next write with immediate; nothing else of it is looked at.
  bool receive = false;
};

using OperationId = std::uint64_t;

/// How an operation ended. The error is the first real one, not the flush behind it: an operation
/// that fell with another's failure ends with QueuePairReset.
struct OperationResult {
  OperationId id = 0;
  std::expected<void, Error> outcome;
  /// Of an atomic: what was there before it.
  std::uint64_t value = 0;
  /// Of a receive.
  std::uint32_t immediate = 0;
  /// Of a receive: bytes that were written before it.
  std::uint64_t length = 0;
};

class OperationQueue {
 public:
  /// `peer` names the other end in error messages, e.g. "worker b (soft0)". Without `results`
  /// atomics are refused.
  OperationQueue(std::unique_ptr<QueuePair> queue_pair, std::string peer,
                 std::unique_ptr<AtomicResults> results = nullptr);
  OperationQueue(const OperationQueue&) = delete;
  OperationQueue& operator=(const OperationQueue&) = delete;
  ~OperationQueue();

  [[nodiscard]] QueuePair& queue_pair() noexcept;
  [[nodiscard]] const QueuePair& queue_pair() const noexcept;

  /// Carries out one operation and returns when it is over. Past `deadline` the queue pair goes to
  /// ERR and is drained; only then Timeout is returned, and nothing touches the memory afterwards.
  /// Errors: as the completion status says, Timeout, QueuePairReset, InvalidQueuePairState.
  ///
  /// A receive has no memory, so past its deadline it ends alone: its queue pair goes on, and what
  /// arrives later is the next receive's.
  std::expected<void, Error> run(const Operation& operation, Clock::time_point deadline);

  /// As `run`, with what an atomic or a receive brings.
  OperationResult run_for_result(const Operation& operation, Clock::time_point deadline);

  /// Makes ready for atomics, as the first of them does else; may block. Errors: as
  /// Domain::register_memory.
  std::expected<void, Error> prepare_atomics();

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
  OperationResult wait_for_result(OperationId id, Clock::time_point deadline);

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
