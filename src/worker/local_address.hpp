// LocalAddress: an address of this machine to bind to, numeric. Calling thread; may ask the
// resolver.
#pragma once

#include <sys/socket.h>

#include <optional>
#include <string>

namespace danaus::worker {

class LocalAddress {
 public:
  /// From an address, "*" (any IPv4), the name of a network interface or a host name; nothing where
  /// none of these is known.
  [[nodiscard]] static std::optional<LocalAddress> resolve(const std::string& host);

  /// E.g. "127.0.0.1", "::1".
  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  /// As it stands in an endpoint: IPv6 in brackets.
  [[nodiscard]] std::string in_endpoint() const;
  [[nodiscard]] bool is_loopback() const noexcept;
  /// Stands for all addresses of the machine.
  [[nodiscard]] bool is_wildcard() const noexcept;

 private:
  explicit LocalAddress(const sockaddr& address);

  sockaddr_storage address_{};
  std::string text_;
};

}  // namespace danaus::worker
