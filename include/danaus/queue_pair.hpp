// QueuePair: a connected queue pair to a peer, shared with everyone in the process who asked for
// the same one. Puts and gets go from the calling thread straight to the device.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "danaus/buffer.hpp"
#include "messages/error.hpp"
#include "messages/values.hpp"

namespace danaus {

/// What a put with immediate of the peer's brought.
struct Received {
  std::uint32_t immediate = 0;
  /// Bytes that it put, which are there.
  std::uint64_t size = 0;
};

/// How a posted operation ended. What follows the outcome means something on success alone.
struct Completion {
  std::uint64_t id = 0;
  std::expected<void, Error> outcome;
  /// Of an atomic: what was there before it.
  std::uint64_t value = 0;
  /// Of a receive.
  Received received;
};

/// One rule of sizes, on every transport: an operation moves all of its source; the destination
/// must be at least as large, its prefix is filled and its tail left as it was; a smaller
/// destination is SizeMismatch. Any thread, several at once; must not outlive its Worker.
///
/// Operations are carried out and complete in the order in which they were posted, puts, gets and
/// atomics alike; receives among themselves.
class QueuePair {
 public:
  QueuePair(QueuePair&&) noexcept;
  QueuePair& operator=(QueuePair&&) noexcept;
  QueuePair(const QueuePair&) = delete;
  QueuePair& operator=(const QueuePair&) = delete;
  ~QueuePair();

  /// RDMA write: `local` into `remote`; returns when the bytes are there. Throws Error:
  /// SizeMismatch; Timeout, after which nothing touches `local` any more and the queue pair is in
  /// ERR (ask the Worker for a new one); or as the completion status says.
  void put(const BufferSlice& local, const RemoteBuffer& remote, std::chrono::milliseconds timeout);

  /// RDMA read: `remote` into `local`; as `put` otherwise.
  void get(const BufferSlice& local, const RemoteBuffer& remote, std::chrono::milliseconds timeout);

  /// Starts a put or a get and returns its id; `poll` tells when it is over. `local` must stay
  /// registered until then.
  [[nodiscard]] std::uint64_t post_put(const BufferSlice& local, const RemoteBuffer& remote);
  [[nodiscard]] std::uint64_t post_get(const BufferSlice& local, const RemoteBuffer& remote);

  /// Atomics: on the 8 bytes of `remote` from `offset` on, a number in the byte order of the
  /// owner's machine at a multiple of 8. They return what was there before. `fetch_add` adds
  /// `value` modulo 2^64; `compare_swap` puts `desired` there if `expected` was.
  ///
  /// On a software device they exclude other Danaus atomics of the owner's process, not stores by
  /// its CPUs nor puts (IBV_ATOMIC_HCA). Throw Error: OutOfRange, InvalidArgument (not aligned),
  /// RemoteAccessError (a read-only buffer); Timeout and PeerLost, after which it may have been
  /// carried out or not; as `put` otherwise.
  std::uint64_t fetch_add(const RemoteBuffer& remote, std::uint64_t offset, std::uint64_t value,
                          std::chrono::milliseconds timeout);
  std::uint64_t compare_swap(const RemoteBuffer& remote, std::uint64_t offset,
                             std::uint64_t expected, std::uint64_t desired,
                             std::chrono::milliseconds timeout);
  [[nodiscard]] std::uint64_t post_fetch_add(const RemoteBuffer& remote, std::uint64_t offset,
                                             std::uint64_t value);
  [[nodiscard]] std::uint64_t post_compare_swap(const RemoteBuffer& remote, std::uint64_t offset,
                                                std::uint64_t expected, std::uint64_t desired);

  /// A put that tells the peer: one `receive` there returns `immediate`, once all bytes are there.
  /// Is over when the peer has a receive for it; until then it waits, and what is posted behind it.
  void put_with_immediate(const BufferSlice& local, const RemoteBuffer& remote,
                          std::uint32_t immediate, std::chrono::milliseconds timeout);
  [[nodiscard]] std::uint64_t post_put_with_immediate(const BufferSlice& local,
                                                      const RemoteBuffer& remote,
                                                      std::uint32_t immediate);

  /// Waits for the peer's next put with immediate over this queue pair, in their order. Whoever
  /// asked for the same queue pair receives from the same peer: each arrival goes to one of them.
  /// Throws Error: Timeout, which leaves the queue pair as it is, and what comes later is the next
  /// receive's; Busy (512 receives wait already); QueuePairReset; InvalidQueuePairState.
  Received receive(std::chrono::milliseconds timeout);
  /// Starts to wait for one; `poll` tells when it is there.
  [[nodiscard]] std::uint64_t post_receive();

  /// Operations that are over, oldest first, at most `max` of them. Never waits.
  [[nodiscard]] std::vector<Completion> poll(std::size_t max = 64);

  /// Waits until a posted operation is over or `timeout` has passed; throws as the operation does.
  Completion wait(std::uint64_t id, std::chrono::milliseconds timeout);

  /// To sleep on with poll(2) or epoll(7): `arm`, `poll` once more, then wait until it is readable.
  [[nodiscard]] int fd() const noexcept;
  void arm();

  /// Transport, devices, numbers and state, queried now.
  [[nodiscard]] messages::QueuePairDescriptor describe() const;
  /// How bytes go, e.g. "tcp".
  [[nodiscard]] std::string path() const;

 private:
  friend class Worker;
  struct State;
  explicit QueuePair(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace danaus
