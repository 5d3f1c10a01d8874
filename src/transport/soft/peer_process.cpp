#include "transport/soft/peer_process.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "transport/soft/system_call.hpp"

namespace danaus::transport::soft {
namespace {

std::unexpected<std::error_code> system_error(int error) {
  return std::unexpected{std::error_code{error, std::generic_category()}};
}

// The pidfd of the very process that connected, where the kernel has it (Linux 6.5,
// SO_PEERPIDFD); else of whoever has its number now, which is it unless it died just now.
FileDescriptor open_pidfd(int socket, ::pid_t pid) {
#ifdef SO_PEERPIDFD
  constexpr int peer_pidfd = SO_PEERPIDFD;
#else
  constexpr int peer_pidfd = 77;  // asm-generic/socket.h; glibc 2.36 does not know it yet
#endif
  int descriptor = -1;
  ::socklen_t length = sizeof descriptor;
  if (::getsockopt(socket, SOL_SOCKET, peer_pidfd, &descriptor, &length) == 0) {
    return FileDescriptor{descriptor};
  }
  return FileDescriptor{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))};
}

}  // namespace

std::expected<PeerProcess, std::error_code> PeerProcess::of(int socket) {
  ::ucred credentials{};
  ::socklen_t length = sizeof credentials;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) {
    return system_error(errno);
  }
  if (credentials.pid <= 0) {
    return system_error(ESRCH);
  }
  FileDescriptor pidfd = open_pidfd(socket, credentials.pid);
  if (!pidfd) {
    return system_error(errno);
  }
  return PeerProcess{credentials.pid, std::move(pidfd)};
}

std::expected<CopyResult, std::error_code> PeerProcess::copy(std::uint64_t local,
                                                             std::uint64_t remote,
                                                             std::uint64_t length,
                                                             std::uint64_t witness) const {
  CopyResult result;
  // The kernel takes the parts in their order, and stops at the first that cannot be had
  // (process_vm_readv(2)): so the witness is read last, and only after all else.
  const std::array<::iovec, 2> into{
      {{for_kernel(local), length}, {&result.witness, sizeof result.witness}}};
  const std::array<::iovec, 2> from{
      {{for_kernel(remote), length}, {for_kernel(witness), sizeof result.witness}}};
  const ssize_t count =
      ::process_vm_readv(pid_, into.data(), into.size(), from.data(), from.size(), 0);
  if (count < 0) {
    return system_error(errno);
  }
  const auto copied = static_cast<std::uint64_t>(count);
  if (copied != length + sizeof result.witness) {
    // Part of a witness is none.
    result.witness = {};
  }
  result.copied = copied < length ? copied : length;
  return result;
}

std::expected<std::uint64_t, std::error_code> PeerProcess::read_word(std::uint64_t address) const {
  std::uint64_t word = 0;
  const ::iovec into{&word, sizeof word};
  const ::iovec from{for_kernel(address), sizeof word};
  const ssize_t count = ::process_vm_readv(pid_, &into, 1, &from, 1, 0);
  if (count < 0) {
    return system_error(errno);
  }
  return count == sizeof word ? std::expected<std::uint64_t, std::error_code>{word}
                              : system_error(EFAULT);
}

bool PeerProcess::is_gone(int socket) const noexcept {
  std::array<::pollfd, 2> descriptors{{{.fd = socket, .events = POLLRDHUP, .revents = 0},
                                       {.fd = pidfd_.get(), .events = POLLIN, .revents = 0}}};
  return ::poll(descriptors.data(), descriptors.size(), 0) > 0;
}

}  // namespace danaus::transport::soft
