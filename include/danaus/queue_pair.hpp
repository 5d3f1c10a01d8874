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

/// How a posted operation ended.
struct Completion {
  std::uint64_t id = 0;
  std::expected<void, Error> outcome;
};

/// One rule of sizes, on every transport: an operation moves all of its source; the destination
/// must be at least as large, its prefix is filled and its tail left as it was; a smaller
/// destination is SizeMismatch. Any thread, several at once; must not outlive its Worker.
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

  /// Operations that are over, oldest first, at most `max` of them. Never waits.
  [[nodiscard]] std::vector<Completion> poll(std::size_t max = 64);

  /// Waits until a posted operation is over or `timeout` has passed; as `put` otherwise.
  void wait(std::uint64_t id, std::chrono::milliseconds timeout);

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
