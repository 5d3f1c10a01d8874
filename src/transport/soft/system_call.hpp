// What system calls on user memory and non-blocking sockets have in common. Any thread.
#pragma once

#include <cerrno>
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

}  // namespace danaus::transport::soft
