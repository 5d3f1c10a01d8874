// Route: one way to dial a peer's data listener. A queue pair resolves its peer's routes once, when
// it is connected, and its requester tries them in order when it first has something to send: a way
// within one host (AF_UNIX) first, by which bytes are copied, then TCP.
// Any thread; `resolve` may block, `dial` does not.
#pragma once

#include <sys/socket.h>

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "messages/error.hpp"
#include "messages/values.hpp"
#include "transport/soft/file_descriptor.hpp"
#include "transport/soft/path_policy.hpp"

namespace danaus::transport::soft {

struct Route {
  /// What QueuePair::path says of a connection made this way: "copy" or "tcp".
  std::string_view path;
  ::sockaddr_storage address{};
  ::socklen_t address_length = 0;
};

/// A fresh name for an AF_UNIX listener: "@danaus-" and 32 random hex digits. "@" stands for the
/// zero byte before names that are in no file system (unix(7), "abstract").
[[nodiscard]] std::string make_unix_name();

/// The address of such a name; nothing for any other, as whoever sends us an endpoint must not have
/// us dial whatever listens on this host.
[[nodiscard]] std::optional<Route> unix_address(std::string_view name);

/// The routes to an endpoint that `paths` allows, best first; none when nobody can dial it. Errors:
/// InvalidArgument when its host name has no address; TransportMismatch when only copies are
/// allowed and it offers none.
[[nodiscard]] std::expected<std::vector<Route>, Error> resolve(
    const messages::SoftEndpoint& endpoint, PathPolicy paths);

/// Begins a connection and returns its socket, non-blocking, established or not: sending tells.
[[nodiscard]] std::expected<FileDescriptor, std::error_code> dial(const Route& route);

/// What every data connection is set to, on either side, once it has addresses.
void tune(int socket, const ::sockaddr_storage& peer) noexcept;

}  // namespace danaus::transport::soft
