// AsyncWakeup: the one fd on which those sleep who do not poll a queue pair themselves all the
// time: readable when the queue pair may progress (while it is watched) or while a result is there
// to take. Used under the OperationQueue's mutex; `fd` by any thread.
#pragma once

namespace danaus::transport {

class AsyncWakeup {
 public:
  /// `queue_pair_fd` outlives it. Throws Error: ResourceExhausted.
  explicit AsyncWakeup(int queue_pair_fd);
  AsyncWakeup(const AsyncWakeup&) = delete;
  AsyncWakeup& operator=(const AsyncWakeup&) = delete;
  ~AsyncWakeup();

  /// An epoll instance (epoll(7)) over the queue pair's fd and an eventfd.
  [[nodiscard]] int fd() const noexcept { return epoll_fd_; }

  /// Whether the queue pair's fd makes `fd` readable. Not while a blocking waiter polls: only that
  /// one can make the queue pair's fd quiet again, and others would spin on it.
  void watch(bool on) noexcept;

  /// Whether `fd` is readable by itself, as results are there.
  void raise(bool on) noexcept;

 private:
  int queue_pair_fd_;
  int epoll_fd_;
  int event_fd_;
  bool watching_ = false;
  bool raised_ = false;
};

}  // namespace danaus::transport
