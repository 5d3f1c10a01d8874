#include "mailbox/endpoint.hpp"

#include <arpa/inet.h>
#include <spdlog/fmt/fmt.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>

#include "messages/actor_ref.hpp"
#include "messages/error.hpp"

namespace danaus::mailbox {
namespace {

constexpr std::string_view tcp_scheme = "tcp://";
constexpr std::string_view ipc_scheme = "ipc://";

[[noreturn]] void throw_bind_error(ErrorCode code, const std::string& endpoint,
                                   std::string_view reason) {
  throw Error{
      code, fmt::format("cannot serve on '{}': {}", endpoint, reason), {{"endpoint", endpoint}}};
}

/// Whether a process listens on this socket file. libzmq unlinks whatever file it finds there, and
/// a second worker would silently cut the first one off.
bool someone_listens(std::string_view path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.front() == '@' || path.size() >= sizeof address.sun_path) {
    return false;
  }
  std::copy(path.begin(), path.end(), std::begin(address.sun_path));
  const int probe = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (probe < 0) {
    return false;
  }
  const bool connected =
      ::connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  ::close(probe);
  return connected;
}

[[noreturn]] void translate_bind_error(const std::string& endpoint, const zmq::error_t& error) {
  switch (error.num()) {
    case EADDRINUSE:
      throw_bind_error(ErrorCode::io_failed, endpoint,
                       "the address is in use; stop the process that serves there, or choose "
                       "another port ('*' takes a free one)");
    case EACCES:
    case EPERM:
      throw_bind_error(ErrorCode::permission_denied, endpoint,
                       "permission denied; choose a port above 1023, or a path that this user may "
                       "write");
    case ENODEV:
    case EADDRNOTAVAIL:
      throw_bind_error(ErrorCode::io_failed, endpoint,
                       "this machine has no such address; give a numeric address of one of its "
                       "interfaces, the interface's name, or '*'");
    case EINVAL:
    case EPROTONOSUPPORT:
    case ENAMETOOLONG:
      throw_bind_error(ErrorCode::invalid_argument, endpoint,
                       "not an endpoint; write tcp://ADDRESS:PORT or ipc://PATH");
    default:
      throw_bind_error(ErrorCode::io_failed, endpoint, error.what());
  }
}

/// The part behind the last colon.
std::string_view port_of(std::string_view endpoint) {
  return endpoint.substr(endpoint.rfind(':') + 1);
}

/// "tcp://192.0.2.1:4000": bound as IPv6 it would be reported in the form [::ffff:192.0.2.1].
bool has_ipv4_address(std::string_view endpoint) {
  const std::size_t start = tcp_scheme.size();
  const std::string host{endpoint.substr(start, endpoint.rfind(':') - start)};
  in_addr address{};
  return ::inet_pton(AF_INET, host.c_str(), &address) == 1;
}

/// "*", or what fits in 16 bits: libzmq takes a larger number modulo 65536.
bool has_valid_port(std::string_view endpoint) {
  const std::string_view port = port_of(endpoint);
  std::uint16_t number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  return port == "*" || (error == std::errc{} && end == port.data() + port.size());
}

bool is_wildcard(std::string_view endpoint) {
  return endpoint.starts_with("tcp://0.0.0.0:") || endpoint.starts_with("tcp://[::]:") ||
         endpoint.starts_with("tcp://*:");
}

}  // namespace

std::string bind_endpoint(zmq::socket_t& socket, const std::string& endpoint) {
  const bool is_ipc = endpoint.starts_with(ipc_scheme);
  const bool is_tcp = endpoint.starts_with(tcp_scheme) && has_valid_port(endpoint);
  if (!is_ipc && !is_tcp) {
    throw_bind_error(ErrorCode::invalid_argument, endpoint,
                     "not an endpoint; write tcp://ADDRESS:PORT or ipc://PATH");
  }
  if (is_ipc && someone_listens(std::string_view{endpoint}.substr(ipc_scheme.size()))) {
    throw_bind_error(ErrorCode::io_failed, endpoint,
                     "a process already serves there; stop it, or choose another path");
  }
  try {
    if (is_tcp && has_ipv4_address(endpoint)) {
      socket.set(zmq::sockopt::ipv6, false);
    }
    socket.bind(endpoint);
  } catch (const zmq::error_t& error) {
    translate_bind_error(endpoint, error);
  }
  return socket.get(zmq::sockopt::last_endpoint);
}

std::string dialled_endpoint(const std::string& identity, const std::string& advertise,
                             const std::string& bound) {
  std::string endpoint = advertise.empty() ? bound : advertise;
  if (advertise.starts_with(tcp_scheme) && port_of(advertise) == "*") {
    endpoint.replace(endpoint.size() - 1, 1, port_of(bound));
  }
  if (is_wildcard(endpoint)) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("nobody can dial '{}': say which address of this machine peers shall "
                            "dial (advertise tcp://HOST:PORT)",
                            endpoint)};
  }
  if (auto checked = messages::check_actor_ref({identity, endpoint}); !checked) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("cannot advertise '{}': {}", endpoint, checked.error().message())};
  }
  return endpoint;
}

}  // namespace danaus::mailbox
