#include "messages/actor_ref.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "messages/detail/text.hpp"

namespace danaus::messages {
namespace {

using detail::quoted;

constexpr std::string_view tcp_prefix = "tcp://";
constexpr std::string_view ipc_prefix = "ipc://";
/// sun_path of unix(7) holds 108 bytes with its terminator.
constexpr std::size_t max_ipc_path_length = 107;
/// The longest DNS name (RFC 1035, section 2.3.4).
constexpr std::size_t max_host_length = 253;

constexpr bool is_alphanumeric(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

constexpr bool is_name_character(char c) {
  return is_alphanumeric(c) || c == '.' || c == '_' || c == '-';
}

/// Within brackets: hexadecimal groups, an embedded IPv4 address, a zone after '%'.
constexpr bool is_ipv6_character(char c) {
  return is_name_character(c) || c == ':' || c == '%';
}

std::unexpected<Error> refuse(std::string message) {
  return std::unexpected{Error{ErrorCode::invalid_argument, std::move(message)}};
}

bool is_wildcard(std::string_view host) {
  return host == "*" || host == "0.0.0.0" || host == "[::]" || host == "[*]";
}

bool is_host(std::string_view host) {
  if (host.starts_with('[') && host.ends_with(']') && host.size() > 2) {
    const auto address = host.substr(1, host.size() - 2);
    return address.size() <= max_host_length && address.contains(':') &&
           std::ranges::all_of(address, is_ipv6_character);
  }
  return !host.empty() && host.size() <= max_host_length &&
         std::ranges::all_of(host, is_name_character);
}

bool is_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return !text.empty() && error == std::errc{} && end == text.data() + text.size() && port != 0;
}

std::expected<void, Error> check_tcp(std::string_view endpoint) {
  const std::string_view address = endpoint.substr(tcp_prefix.size());
  const std::size_t colon = address.rfind(':');
  // The last colon of an IPv6 address without a port lies inside its brackets.
  if (colon == std::string_view::npos || address.ends_with(']')) {
    return refuse("the endpoint " + quoted(endpoint) + " has no port; write tcp://HOST:PORT");
  }
  const std::string_view host = address.substr(0, colon);
  if (is_wildcard(host)) {
    return refuse("the endpoint " + quoted(endpoint) +
                  " has a wildcard for a host, which cannot be dialled; name an address of the "
                  "worker's machine");
  }
  if (!host.starts_with('[') && host.contains(':')) {
    return refuse("the endpoint " + quoted(endpoint) +
                  " has an IPv6 address without brackets; write tcp://[ADDRESS]:PORT");
  }
  if (!is_host(host)) {
    return refuse("the endpoint " + quoted(endpoint) + " has no valid host; write tcp://HOST:PORT");
  }
  if (!is_port(address.substr(colon + 1))) {
    return refuse("the endpoint " + quoted(endpoint) + " has no valid port; it is 1 to 65535");
  }
  return {};
}

std::expected<void, Error> check_ipc(std::string_view endpoint) {
  const std::string_view path = endpoint.substr(ipc_prefix.size());
  if (path.empty() || path == "*") {
    return refuse("the endpoint " + quoted(endpoint) + " names no path; write ipc://PATH");
  }
  if (path.size() > max_ipc_path_length) {
    return refuse("the endpoint " + quoted(endpoint) + " has a path of " +
                  std::to_string(path.size()) + " bytes; a UNIX socket takes at most " +
                  std::to_string(max_ipc_path_length));
  }
  if (path.contains('\0')) {
    return refuse("the endpoint " + quoted(endpoint) + " has a zero byte in its path");
  }
  return {};
}

std::expected<void, Error> check_endpoint(std::string_view endpoint) {
  if (endpoint.starts_with(tcp_prefix)) {
    return check_tcp(endpoint);
  }
  if (endpoint.starts_with(ipc_prefix)) {
    return check_ipc(endpoint);
  }
  return refuse("the endpoint " + quoted(endpoint) + " is neither tcp://HOST:PORT nor ipc://PATH");
}

std::expected<void, Error> check_identity(std::string_view identity) {
  if (!is_valid_identity(identity)) {
    return refuse("the identity " + quoted(identity) + " is not 1 to " +
                  std::to_string(max_identity_length) +
                  " of the characters A-Z a-z 0-9 . _ - (a reference is written "
                  "identity@endpoint)");
  }
  return {};
}

}  // namespace

bool is_valid_identity(std::string_view identity) noexcept {
  return !identity.empty() && identity.size() <= max_identity_length &&
         std::ranges::all_of(identity, is_name_character);
}

std::string to_string(const ActorRef& ref) {
  return ref.at.empty() ? ref.id : ref.id + '@' + ref.at;
}

std::expected<void, Error> check_actor_ref(const ActorRef& ref) {
  if (auto checked = check_identity(ref.id); !checked || ref.at.empty()) {
    return checked;
  }
  return check_endpoint(ref.at);
}

std::expected<ActorRef, Error> parse_actor_ref(std::string_view text) {
  const std::size_t separator = text.find('@');
  ActorRef ref{std::string{text.substr(0, separator)}, {}};
  if (separator != std::string_view::npos) {
    ref.at = text.substr(separator + 1);
    if (ref.at.empty()) {
      return refuse("the reference " + quoted(text) +
                    " has nothing behind its '@'; write identity@tcp://HOST:PORT");
    }
  }
  if (auto checked = check_actor_ref(ref); !checked) {
    return std::unexpected{std::move(checked.error())};
  }
  return ref;
}

std::expected<BufferRef, Error> parse_buffer_ref(std::string_view text) {
  constexpr std::string_view form = "; write identity@endpoint/buffer";
  const std::size_t slash = text.rfind('/');
  if (slash == std::string_view::npos || text.substr(0, slash).ends_with(":/")) {
    return refuse("the buffer reference " + quoted(text) + " names no buffer" + std::string{form});
  }
  const std::string_view buffer = text.substr(slash + 1);
  if (buffer.empty()) {
    return refuse("the buffer reference " + quoted(text) + " ends before the buffer's name" +
                  std::string{form});
  }
  auto owner = parse_actor_ref(text.substr(0, slash));
  if (!owner) {
    return std::unexpected{std::move(owner.error())};
  }
  if (owner->at.empty()) {
    return refuse("the buffer reference " + quoted(text) + " has no endpoint" + std::string{form});
  }
  return BufferRef{std::move(*owner), std::string{buffer}};
}

}  // namespace danaus::messages
