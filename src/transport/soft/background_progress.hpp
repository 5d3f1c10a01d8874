// BackgroundProgress: lets the `data` thread drive a requester whose caller is not polling. One
// wait at a time on an epoll set of its own that holds the requester's socket while it is attached;
// taking the socket out is one system call and wakes nobody, so a caller who begins to poll pays no
// more. Guarded by the queue pair's mutex. The io_context must outlive it.
#pragma once

#include <functional>
#include <optional>

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>

namespace danaus::transport::soft {

class BackgroundProgress {
 public:
  explicit BackgroundProgress(asio::io_context& data) : data_{data} {}

  /// Sees to it that `on_ready` runs on the data thread, once, when `socket` can be read (or
  /// written if `writable`). False when the kernel refuses.
  [[nodiscard]] bool attach(int socket, bool writable, std::function<void()> on_ready);
  /// Sees to it that `on_turn` runs on the data thread, once, after others have had their turn.
  void take_turn(std::function<void()> on_turn);
  /// To be called by `on_turn` first.
  void turn_began() noexcept { turn_due_ = false; }
  [[nodiscard]] bool attached() const noexcept { return attached_; }
  /// The wait has ended: to be called by `on_ready` first.
  void wait_ended() noexcept { waiting_ = false; }
  /// Nothing wakes the data thread any more. `socket` must still be open.
  void detach(int socket) noexcept;
  /// The socket is gone or going by itself.
  void forget() noexcept { attached_ = false; }
  /// Ends for good; a wait ends with it.
  void close() noexcept;

 private:
  [[nodiscard]] bool open();

  asio::io_context& data_;
  std::optional<asio::posix::stream_descriptor> set_;
  bool attached_ = false;
  bool writable_ = false;
  bool waiting_ = false;
  bool turn_due_ = false;
  bool closed_ = false;
};

}  // namespace danaus::transport::soft
