// Batch: puts, gets and atomics on many buffers of any number of peers as one call with one
// deadline.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "danaus/buffer.hpp"
#include "messages/error.hpp"

namespace danaus {

enum class BatchOperation : std::uint8_t { put, get, fetch_add, compare_swap };

/// How one operation of a batch ended.
struct BatchOutcome {
  /// Its place in the batch: 0 for the first that was added.
  std::size_t index = 0;
  BatchOperation operation = BatchOperation::put;
  /// The identity of its remote buffer's owner.
  std::string peer;
  /// What it moves.
  std::uint64_t bytes = 0;
  std::expected<void, Error> outcome;
  /// Of an atomic that succeeded: what was there before it.
  std::uint64_t value = 0;
};

/// A list of operations, made by Worker::batch, that is carried out as a whole, as often as wanted.
/// Operations to one peer execute in the order in which they were added; those to different peers
/// at the same time. One thread at a time: a call while another thread's `submit` runs throws
/// Error: Busy, and changes nothing. Move-only; must not outlive its Worker. The Buffers of its
/// slices must live, registered, while `submit` runs; it never touches them otherwise.
class Batch {
 public:
  Batch(Batch&&) noexcept;
  Batch& operator=(Batch&&) noexcept;
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;
  ~Batch();

  // -- what to do; each adds one operation or, when it throws, nothing
  // -----------------------------

  /// RDMA write: `local` into `remote`, by the rule of sizes of QueuePair. Throws Error:
  /// SizeMismatch; TransportMismatch; InvalidArgument, when `local` is another worker's, or is
  /// filled by a get of this batch.
  Batch& put(const BufferSlice& local, const RemoteBuffer& remote);

  /// RDMA read: `remote` into `local`. Throws Error as `put`; InvalidArgument, when the bytes that
  /// it fills are used by any other operation of this batch. Overlaps at the peers are not looked
  /// for.
  Batch& get(const BufferSlice& local, const RemoteBuffer& remote);

  /// Atomics on 8 bytes of `remote` from `offset` on, as those of QueuePair; `outcomes` has what
  /// was there before. Throw Error: OutOfRange; InvalidArgument (not aligned); TransportMismatch.
  Batch& fetch_add(const RemoteBuffer& remote, std::uint64_t offset, std::uint64_t value);
  Batch& compare_swap(const RemoteBuffer& remote, std::uint64_t offset, std::uint64_t expected,
                      std::uint64_t desired);

  /// Forgets all operations and outcomes.
  void clear();

  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] bool empty() const { return size() == 0; }

  // -- doing it
  // ------------------------------------------------------------------------------------

  /// Carries all of it out and returns when each operation is over; connects, to all peers at once,
  /// where there is no connection. May be repeated, also after a failure: it does the same again,
  /// atomics included.
  /// What befalls the operations to one peer leaves those to others alone. Past `timeout` what is
  /// not over ends as in QueuePair, so that nothing touches local memory when this returns. Throws
  /// one Error when any failed: the code is that of the first failure that is a cause rather than
  /// the consequence of another's (QueuePairReset), the message lists them, in bounds. Without
  /// operations nothing happens.
  void submit(std::chrono::milliseconds timeout);

  /// How each operation of the last `submit` ended, in the order of adding; none before it.
  [[nodiscard]] std::vector<BatchOutcome> outcomes() const;

 private:
  friend class Worker;
  struct State;
  explicit Batch(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace danaus
