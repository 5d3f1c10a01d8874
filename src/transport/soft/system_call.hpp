// What system calls on user memory and non-blocking sockets have in common. Any thread.
#pragma once

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <chrono>
#include <cstdint>

namespace danaus::transport::soft {

/// The address of user memory for the kernel's eyes only: nothing of ours reads or writes through
/// it.
[[nodiscard]] inline void* for_kernel(std::uint64_t address) noexcept {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));  // NOLINT
}

[[nodiscard]] inline bool would_block(int error) noexcept {
  return error == EAGAIN || error == EWOULDBLOCK;
}

/// Has receives without MSG_DONTWAIT wait, for `limit` (below a second). False when the kernel
/// refuses.
[[nodiscard]] inline bool block_receives(int socket, std::chrono::microseconds limit) noexcept {
  const ::timeval time{.tv_sec = 0, .tv_usec = limit.count()};
  const int flags = ::fcntl(socket, F_GETFL);
  return ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time) == 0 && flags >= 0 &&
         ::fcntl(socket, F_SETFL, flags & ~O_NONBLOCK) == 0;
}

}  // namespace danaus::transport::soft
