// Binding a socket to an endpoint, with errors that say what to do; and what others dial.
// `mailbox` thread, or the one that constructs the mailbox.
#pragma once

#include <string>

#include <zmq.hpp>

namespace danaus::mailbox {

/// Binds and returns the endpoint in full (a port "*" replaced by the one that was taken). Throws
/// Error: InvalidArgument, IoFailed, PermissionDenied.
std::string bind_endpoint(zmq::socket_t& socket, const std::string& endpoint);

/// What peers are told to dial: `advertise`, its port "*" replaced by the bound one, else `bound`.
/// Throws Error: InvalidArgument where only a wildcard address would be left, or for a bad
/// endpoint.
[[nodiscard]] std::string dialled_endpoint(const std::string& identity,
                                           const std::string& advertise, const std::string& bound);

}  // namespace danaus::mailbox
