// OperationTable: the operations that are under way on one queue pair, found by the id that their
// work requests carry. Slots are reused, so that the steady state allocates nothing.
// Used under the OperationQueue's mutex.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "messages/error.hpp"
#include "transport/operation_queue.hpp"

namespace danaus::transport {

/// What a write with immediate of the peer's brought.
struct Arrival {
  std::uint32_t immediate = 0;
  /// Bytes that were written before it.
  std::uint64_t length = 0;
};

/// An operation between its start and the taking of its result.
struct PendingOperation {
  /// Also the id of each of its work requests. 0: the slot is free.
  OperationId id = 0;
  Operation operation;
  /// Bytes handed to the queue pair so far.
  std::uint64_t posted = 0;
  /// Work requests posted and not yet completed.
  std::uint32_t outstanding = 0;
  /// Nothing is left to post.
  bool posted_all = false;
  /// A work request of it was flushed.
  bool flushed = false;
  /// Its deadline passed before it was over.
  bool expired = false;
  /// Its outcome stands: no error, or `error`.
  bool over = false;
  /// Its result is for `poll` and `try_take`; else a thread waits for it, or nobody.
  bool asynchronous = false;
  /// It is for nobody.
  bool discarded = false;
  /// Of an atomic: its place in AtomicResults while it is posted, and what was found.
  std::uint32_t result_slot = 0;
  std::uint64_t value = 0;
  /// Of a receive that is over.
  Arrival arrival;
  std::optional<Error> error;
  /// Wakes the thread that waits for it: it is over, or that thread is to poll.
  std::condition_variable wake;
};

class OperationTable {
 public:
  /// A slot with a new id and everything else as at first. Its address holds until `release`.
  PendingOperation& add(const Operation& operation);

  /// Nothing for an id that is not there (any more).
  [[nodiscard]] PendingOperation* find(OperationId id) noexcept;

  void release(PendingOperation& pending) noexcept;

 private:
  struct Slot {
    PendingOperation pending;
    std::uint32_t generation = 0;
  };

  // A deque: addresses stay put as it grows.
  std::deque<Slot> slots_;
  std::vector<std::uint32_t> free_;
};

}  // namespace danaus::transport
