// CompletionChannel: the one descriptor that callers of a queue pair sleep on. An epoll set (epoll
// sets can be polled like any descriptor) over the requester's socket, when there is one, and an
// eventfd for completions that come about elsewhere.
// Guarded by the queue pair's mutex, but for `fd`.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>

#include "messages/error.hpp"
#include "transport/soft/file_descriptor.hpp"

namespace danaus::transport::soft {

class CompletionChannel {
 public:
  /// Errors: ResourceExhausted.
  [[nodiscard]] static std::expected<CompletionChannel, Error> make();

  /// Constant. Any thread.
  [[nodiscard]] int fd() const noexcept { return set_.get(); }

  /// Whether `fd` is to be readable when `socket` is, and, if `writable`, when it can take data. A
  /// closed socket leaves by itself: `forget` it. False when the kernel refuses.
  [[nodiscard]] bool watch(int socket, bool on, bool writable) noexcept;
  /// The socket has left.
  void forget() noexcept { watched_ = 0; }

  /// What `signal` makes readable, alone.
  [[nodiscard]] int event() const noexcept { return event_.get(); }

  /// Asks that the next `signal` make `fd` readable.
  void arm() noexcept { armed_ = true; }
  /// A completion was added by other than a caller of poll.
  void signal() noexcept;
  /// A caller looks: takes back what `signal` did.
  void acknowledge() noexcept;

 private:
  CompletionChannel(FileDescriptor set, FileDescriptor event) noexcept
      : set_{std::move(set)}, event_{std::move(event)} {}

  FileDescriptor set_;
  FileDescriptor event_;
  /// Events of epoll_ctl(2) that the socket is in the set for; 0: it is not.
  std::uint32_t watched_ = 0;
  bool armed_ = false;
  bool signalled_ = false;
};

}  // namespace danaus::transport::soft
