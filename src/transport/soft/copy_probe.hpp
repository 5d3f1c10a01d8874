// How each side of a connection within one host finds out whether it may read the other's memory:
// by reading a random number there. Users, PID namespaces, Yama and seccomp can forbid it, and only
// trying tells. Any thread.
#pragma once

#include <cstdint>
#include <expected>
#include <system_error>

#include "messages/bytes.hpp"
#include "transport/soft/frame.hpp"
#include "transport/soft/peer_process.hpp"

namespace danaus::transport::soft {

/// A process's own random number. It stays where it is while peers may look for it.
class Nonce {
 public:
  Nonce() = default;
  Nonce(const Nonce&) = delete;
  Nonce& operator=(const Nonce&) = delete;
  ~Nonce() = default;

  /// What to tell a peer of it, and of our own attempt at the peer's.
  [[nodiscard]] Probe probe(std::error_code own_failure = {}) const noexcept {
    return {.nonce_address = reinterpret_cast<std::uintptr_t>(&value_),
            .nonce = value_,
            .failure = static_cast<std::uint32_t>(own_failure.value())};
  }

 private:
  std::uint64_t value_ = messages::random_u64();
};

/// The process at the other end of `socket`, if its memory can be read, as `theirs` proves. Errors:
/// as PeerProcess; ESRCH when the nonce is not there, so that it is another process.
[[nodiscard]] std::expected<PeerProcess, std::error_code> reach(int socket, const Probe& theirs);

}  // namespace danaus::transport::soft
