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

  /// Readable from now on when `socket` is, or can take data if `writable`. The socket leaves by
  /// being closed. False when the kernel refuses.
  [[nodiscard]] bool watch(int socket, bool writable) noexcept;
  void rewatch(int socket, bool writable) noexcept;

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
  bool armed_ = false;
  bool signalled_ = false;
};

}  // namespace danaus::transport::soft
