// PeerProcess: the process at the other end of an AF_UNIX connection, as the kernel names it, and
// the copying of its memory into ours (process_vm_readv(2)). One thread at a time.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <expected>
#include <system_error>

#include "transport/soft/file_descriptor.hpp"
#include "transport/soft/live_keys.hpp"

namespace danaus::transport::soft {

/// What `PeerProcess::copy` came to.
struct CopyResult {
  /// Bytes copied; less than asked for where memory ends, on either side.
  std::uint64_t copied = 0;
  /// What stood there after the last byte had been copied; zeros if it was not reached.
  Witness witness;
};

class PeerProcess {
 public:
  /// Of a connected socket. Errors: those of getsockopt(2) and pidfd_open(2); ESRCH for a process
  /// that this one cannot see (another PID namespace).
  [[nodiscard]] static std::expected<PeerProcess, std::error_code> of(int socket);

  /// Copies `length` bytes (not 0) at its address `remote` to ours `local`, then reads the
  /// Witness at its `witness`. One system call. Errors: EFAULT when not even the first byte can be
  /// copied, on whichever side; ESRCH; EPERM; others of process_vm_readv(2).
  [[nodiscard]] std::expected<CopyResult, std::error_code> copy(std::uint64_t local,
                                                                std::uint64_t remote,
                                                                std::uint64_t length,
                                                                std::uint64_t witness) const;

  /// Its 8 bytes at `address`. Errors: as `copy`.
  [[nodiscard]] std::expected<std::uint64_t, std::error_code> read_word(
      std::uint64_t address) const;

  /// Whether the process has ended, so that another may have its number, or has closed its end of
  /// `socket`.
  [[nodiscard]] bool is_gone(int socket) const noexcept;

 private:
  PeerProcess(::pid_t pid, FileDescriptor pidfd) noexcept : pid_{pid}, pidfd_{std::move(pidfd)} {}

  ::pid_t pid_;
  FileDescriptor pidfd_;
};

}  // namespace danaus::transport::soft
