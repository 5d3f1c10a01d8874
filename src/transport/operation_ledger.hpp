// OperationLedger: the state of the operations of one queue pair: what is posted, what waits for a
// slot, what is over and how it ended. It posts; it never polls and never waits.
// Used under the OperationQueue's mutex. Relies on transport.hpp and operation_table.hpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <expected>
#include <optional>
#include <span>
#include <string>

#include "messages/error.hpp"
#include "transport/atomic_results.hpp"
#include "transport/operation_queue.hpp"
#include "transport/operation_receives.hpp"
#include "transport/operation_table.hpp"
#include "transport/transport.hpp"

namespace danaus::transport {

class OperationLedger {
 public:
  /// Refers to `queue_pair`, and to `results`, if any, for atomics.
  OperationLedger(QueuePair& queue_pair, std::string peer, AtomicResults* results);

  [[nodiscard]] const std::string& peer() const noexcept { return peer_; }

  // -- one operation's way -----------------------------------------------------------------------

  /// Posts as much of it as can be now; the rest follows as others complete. A receive may be over
  /// at once. Errors: InvalidQueuePairState; what the queue pair says when it refuses the first
  /// work request.
  std::expected<PendingOperation*, Error> start(const Operation& operation);

  /// Its result goes to `done`; until `await` says otherwise.
  void make_asynchronous(PendingOperation& pending);
  /// Nobody will take the result of this asynchronous one.
  void discard(PendingOperation& pending);
  /// A thread waits for it from now on.
  void await(PendingOperation& pending) noexcept;

  [[nodiscard]] PendingOperation* find(OperationId id) noexcept { return table_.find(id); }

  /// The result of one that is over; frees its slot.
  OperationResult take(PendingOperation& pending);

  // -- what happens to them ----------------------------------------------------------------------

  /// Completions of the queue pair, in its order.
  void collect(std::span<const WorkCompletion> completions);

  /// Its deadline has passed: the queue pair goes to ERR, and it ends with Timeout once drained. A
  /// receive ends alone.
  void expire(PendingOperation& pending);

  /// The queue pair goes to ERR; what is outstanding ends with `reason`.
  void abort(const Error& reason);

  // -- where they stand --------------------------------------------------------------------------

  /// The queue pair is in ERR as far as this side knows; nothing is begun any more.
  [[nodiscard]] bool broken() const noexcept { return cause_.has_value(); }
  /// Work requests that the queue pair holds.
  [[nodiscard]] std::uint64_t outstanding() const noexcept { return outstanding_; }
  /// Whether there are asynchronous operations, over or not.
  [[nodiscard]] bool has_asynchronous() const noexcept {
    return asynchronous_ != 0 || !done_.empty();
  }
  /// Asynchronous operations that are over, oldest first.
  [[nodiscard]] const std::deque<PendingOperation*>& done() const noexcept { return done_; }

  [[nodiscard]] std::uint64_t completed_operations() const noexcept { return operations_.load(); }
  [[nodiscard]] std::uint64_t completed_bytes() const noexcept { return bytes_.load(); }

 private:
  std::expected<PendingOperation*, Error> start_receive(const Operation& operation);
  void collect_receive(const WorkCompletion& completion);
  [[nodiscard]] static WorkRequest next_chunk(const PendingOperation& pending) noexcept;
  bool give_result_slot(PendingOperation& pending, WorkRequest& request) noexcept;
  bool post_chunks(PendingOperation& pending);
  void post_waiting();
  void settle(PendingOperation& pending);
  void finish(PendingOperation& pending);
  void break_off(Error cause);

  QueuePair& queue_pair_;
  const std::string peer_;
  AtomicResults* const results_;
  OperationTable table_;
  OperationReceives receives_;
  /// Operations with something left to post, first come first.
  std::deque<PendingOperation*> to_post_;
  std::uint64_t outstanding_ = 0;
  std::deque<PendingOperation*> done_;
  /// Asynchronous operations that are not over.
  std::size_t asynchronous_ = 0;
  /// Why the queue pair is in ERR.
  std::optional<Error> cause_;
  /// `cause_` came from `abort`: it is the error of whatever was outstanding then.
  bool aborted_ = false;
  // Atomic: read without the mutex.
  std::atomic<std::uint64_t> operations_ = 0;
  std::atomic<std::uint64_t> bytes_ = 0;
};

}  // namespace danaus::transport
