// Route: one way to dial a peer's data listener. A queue pair resolves its peer's routes once, when
// it is connected, and its requester tries them in order when it first has something to send.
// Today every route is TCP. A way within one host (AF_UNIX) would stand before them in the list.
// Any thread; `resolve` may block, `dial` does not.
#pragma once

#include <sys/socket.h>

#include <expected>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "messages/error.hpp"
#include "messages/values.hpp"
#include "transport/soft/file_descriptor.hpp"

namespace danaus::transport::soft {

struct Route {
  /// What QueuePair::path says of a connection made this way.
  std::string_view path;
  ::sockaddr_storage address{};
  ::socklen_t address_length = 0;
};

/// The routes to an endpoint, best first; none when nobody can dial it. Errors: InvalidArgument
/// when its host name has no address.
[[nodiscard]] std::expected<std::vector<Route>, Error> resolve(
    const messages::SoftEndpoint& endpoint);

/// Begins a connection and returns its socket, non-blocking, established or not: sending tells.
[[nodiscard]] std::expected<FileDescriptor, std::error_code> dial(const Route& route);

/// What every data connection is set to, on either side, once it has addresses.
void tune(int socket, const ::sockaddr_storage& peer) noexcept;

}  // namespace danaus::transport::soft
