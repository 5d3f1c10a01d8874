// BufferSession: what `put` and `get` share: a passive worker, the peer's named buffer, a connected
// queue pair and a small staging buffer of two windows, so that file and network overlap.
// One thread. Relies on the public API alone.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "danaus/danaus.hpp"
#include "messages/actor_ref.hpp"
#include "tools/exit_code.hpp"

namespace danaus::tools {

/// One of the two halves of the staging buffer. Large enough to hide a round trip, small enough to
/// stay in a core's cache share on its way between file and socket.
inline constexpr std::uint64_t window_size = std::uint64_t{4} << 20U;

/// A passive worker, which asks and moves bytes but listens on nothing.
[[nodiscard]] WorkerConfig passive_worker_config(std::string_view command);

/// The peer's buffer as it was looked up, before anything is connected or moved.
class BufferSession {
 public:
  /// Looks the buffer up. Throws Error: NotFound, Unreachable, Timeout, …
  BufferSession(std::string_view command, messages::BufferRef target,
                std::chrono::milliseconds timeout);

  /// Of the peer's buffer, in bytes.
  [[nodiscard]] std::uint64_t buffer_size() const noexcept { return remote_.size(); }
  [[nodiscard]] const messages::BufferRef& target() const noexcept { return target_; }

  /// Connects and makes ready to move `length` bytes from `offset` of the peer's buffer on, which
  /// must lie within it. Once. Throws Error.
  void connect(std::uint64_t offset, std::uint64_t length);

  /// How many windows there are to move.
  [[nodiscard]] std::uint64_t windows() const noexcept;
  /// The local memory of a window; the next but one has the same.
  [[nodiscard]] BufferSlice local(std::uint64_t window) const;

  /// Start moving a window, in the order of their numbers. At most two are in flight.
  void post_put(std::uint64_t window);
  void post_get(std::uint64_t window);
  /// Waits until a window has moved. Throws Error.
  void wait(std::uint64_t window);

  /// Prints what came of it: a JSON line, or one for people.
  void print_summary(std::string_view what, double seconds, bool json) const;

 private:
  [[nodiscard]] std::uint64_t length_of(std::uint64_t window) const noexcept;
  [[nodiscard]] RemoteBuffer remote(std::uint64_t window) const;

  messages::BufferRef target_;
  std::chrono::milliseconds timeout_;
  // In the order of their lifetimes: what uses another is destroyed before it.
  Worker worker_;
  RemoteBuffer remote_;
  std::optional<Buffer> staging_;
  std::optional<QueuePair> queue_pair_;
  std::uint64_t offset_ = 0;
  std::uint64_t length_ = 0;
  /// Of the operations in flight, by half of the staging buffer.
  std::uint64_t operations_[2] = {0, 0};
};

}  // namespace danaus::tools
