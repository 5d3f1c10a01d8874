#include "transport/soft/copy_probe.hpp"

#include <cerrno>

namespace danaus::transport::soft {

std::expected<PeerProcess, std::error_code> reach(int socket, const Probe& theirs) {
  auto peer = PeerProcess::of(socket);
  if (!peer) {
    return peer;
  }
  const auto found = peer->read_word(theirs.nonce_address);
  if (!found) {
    return std::unexpected{found.error()};
  }
  if (*found != theirs.nonce) {
    return std::unexpected{std::error_code{ESRCH, std::generic_category()}};
  }
  return peer;
}

}  // namespace danaus::transport::soft
