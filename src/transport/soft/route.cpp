#include "transport/soft/route.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <spdlog/fmt/fmt.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>

#include "messages/bytes.hpp"

namespace danaus::transport::soft {
namespace {

// A peer whose host vanished without a FIN is given up after 10 + 3 × 5 s of silence. A peer that
// is merely stopped answers probes, as its kernel does.
constexpr int keepalive_idle_s = 10;
constexpr int keepalive_interval_s = 5;
constexpr int keepalive_probes = 3;

void set_option(int socket, int level, int option, int value) noexcept {
  // A refusal costs speed or patience, not correctness.
  static_cast<void>(::setsockopt(socket, level, option, &value, sizeof value));
}

// Within one host a full socket buffer is but memory that falls out of the cache before the peer
// reads it: with the kernel's 4 MiB and both ends on one core, a put took twice as long. The kernel
// doubles what is asked for (socket(7)).
constexpr int send_buffer_within_host = 512 << 10;

// Nothing within a host is congested, and the simplest control costs the least: bbr, say, paces by
// timers. Reno is always there (tcp(7)).
constexpr std::string_view congestion_control_within_host = "reno";

/// Whether the other end has the same address, and thus is on this host.
bool is_within_host(int socket, const ::sockaddr_storage& peer) noexcept {
  ::sockaddr_storage own{};
  ::socklen_t length = sizeof own;
  if (::getsockname(socket, reinterpret_cast<::sockaddr*>(&own), &length) != 0 ||
      own.ss_family != peer.ss_family) {
    return false;
  }
  switch (peer.ss_family) {
    case AF_INET: {
      const auto& left = reinterpret_cast<const ::sockaddr_in&>(own);
      const auto& right = reinterpret_cast<const ::sockaddr_in&>(peer);
      return left.sin_addr.s_addr == right.sin_addr.s_addr;
    }
    case AF_INET6: {
      const auto& left = reinterpret_cast<const ::sockaddr_in6&>(own);
      const auto& right = reinterpret_cast<const ::sockaddr_in6&>(peer);
      return std::memcmp(&left.sin6_addr, &right.sin6_addr, sizeof left.sin6_addr) == 0;
    }
    default:
      return false;
  }
}

constexpr std::string_view unix_prefix = "@danaus-";
constexpr std::size_t unix_digits = 32;

struct FreeAddresses {
  void operator()(::addrinfo* list) const noexcept { ::freeaddrinfo(list); }
};

}  // namespace

std::string make_unix_name() {
  return std::string{unix_prefix} + messages::to_hex(messages::random_bytes<unix_digits / 2>());
}

std::optional<Route> unix_address(std::string_view name) {
  const auto is_hex_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (name.size() != unix_prefix.size() + unix_digits || !name.starts_with(unix_prefix) ||
      !std::ranges::all_of(name.substr(unix_prefix.size()), is_hex_digit)) {
    return std::nullopt;
  }
  Route route{.path = "copy", .address = {}, .address_length = 0};
  ::sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // The zero byte stands in place of the "@".
  std::memcpy(address.sun_path + 1, name.data() + 1, name.size() - 1);
  route.address_length = static_cast<::socklen_t>(offsetof(::sockaddr_un, sun_path) + name.size());
  std::memcpy(&route.address, &address, sizeof address);
  return route;
}

std::expected<std::vector<Route>, Error> resolve(const messages::SoftEndpoint& endpoint,
                                                 PathPolicy paths) {
  std::vector<Route> routes;
  if (paths != PathPolicy::tcp) {
    if (const auto within_host = unix_address(endpoint.unix_name)) {
      routes.push_back(*within_host);
    }
  }
  if (paths == PathPolicy::copy) {
    if (routes.empty() && !endpoint.address.empty()) {
      return std::unexpected{
          Error{ErrorCode::transport_mismatch,
                fmt::format("cannot connect to the data listener {}:{}: only copies within one "
                            "host are allowed here (soft path \"copy\"), and it offers none; allow "
                            "\"auto\" on both sides",
                            endpoint.address, endpoint.port)}};
    }
    return routes;
  }
  if (endpoint.address.empty()) {
    return routes;
  }
  ::addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  ::addrinfo* list = nullptr;
  const std::string port = std::to_string(endpoint.port);
  const int failure = ::getaddrinfo(endpoint.address.c_str(), port.c_str(), &hints, &list);
  if (failure != 0) {
    const int saved_errno = errno;
    return std::unexpected{
        Error{ErrorCode::invalid_argument,
              fmt::format("cannot connect to the data listener {}:{}: {}; check what the peer "
                          "advertises, and name resolution",
                          endpoint.address, port,
                          failure == EAI_SYSTEM ? std::generic_category().message(saved_errno)
                                                : std::string{::gai_strerror(failure)})}};
  }
  const std::unique_ptr<::addrinfo, FreeAddresses> owner{list};
  for (const ::addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    if (entry->ai_addrlen > sizeof(::sockaddr_storage)) {
      continue;
    }
    Route route{.path = "tcp", .address = {}, .address_length = entry->ai_addrlen};
    std::memcpy(&route.address, entry->ai_addr, entry->ai_addrlen);
    routes.push_back(route);
  }
  return routes;
}

std::expected<FileDescriptor, std::error_code> dial(const Route& route) {
  FileDescriptor socket{
      ::socket(route.address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
  if (!socket) {
    return std::unexpected{std::error_code{errno, std::generic_category()}};
  }
  const auto* address = reinterpret_cast<const ::sockaddr*>(&route.address);
  if (::connect(socket.get(), address, route.address_length) != 0 && errno != EINPROGRESS) {
    return std::unexpected{std::error_code{errno, std::generic_category()}};
  }
  tune(socket.get(), route.address);
  return socket;
}

void tune(int socket, const ::sockaddr_storage& peer) noexcept {
  if (peer.ss_family == AF_UNIX) {
    return;
  }
  // Requests and acknowledgements are small and waited for.
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, keepalive_idle_s);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, keepalive_interval_s);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, keepalive_probes);
  if (is_within_host(socket, peer)) {
    set_option(socket, SOL_SOCKET, SO_SNDBUF, send_buffer_within_host);
    static_cast<void>(::setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION,
                                   congestion_control_within_host.data(),
                                   congestion_control_within_host.size()));
  }
}

}  // namespace danaus::transport::soft
