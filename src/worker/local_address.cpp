#include "worker/local_address.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>

#include <array>
#include <cstring>
#include <memory>

namespace danaus::worker {

namespace {

constexpr unsigned loopback_net = 127;  // 127.0.0.0/8, RFC 1122, section 3.2.1.3

socklen_t size_of(const sockaddr& address) noexcept {
  return address.sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
}

/// The first IPv4 address of the interface, else its first IPv6 address.
std::optional<sockaddr_storage> address_of_interface(const std::string& name) {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) {
    return std::nullopt;
  }
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner{list, &::freeifaddrs};
  for (const int family : {AF_INET, AF_INET6}) {
    for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
      if (entry->ifa_addr != nullptr && entry->ifa_addr->sa_family == family &&
          name == entry->ifa_name) {
        sockaddr_storage address{};
        std::memcpy(&address, entry->ifa_addr, size_of(*entry->ifa_addr));
        return address;
      }
    }
  }
  return std::nullopt;
}

std::optional<sockaddr_storage> address_of_host(const std::string& host) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (::getaddrinfo(host.c_str(), nullptr, &hints, &list) != 0) {
    return std::nullopt;
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner{list, &::freeaddrinfo};
  for (const int family : {AF_INET, AF_INET6}) {
    for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
      if (entry->ai_family == family) {
        sockaddr_storage address{};
        std::memcpy(&address, entry->ai_addr, entry->ai_addrlen);
        return address;
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<LocalAddress> LocalAddress::resolve(const std::string& host) {
  auto address = host == "*" ? address_of_host("0.0.0.0") : address_of_interface(host);
  if (!address) {
    address = address_of_host(host);
  }
  if (!address) {
    return std::nullopt;
  }
  return LocalAddress{reinterpret_cast<const sockaddr&>(*address)};
}

LocalAddress::LocalAddress(const sockaddr& address) {
  std::memcpy(&address_, &address, size_of(address));
  std::array<char, NI_MAXHOST> text{};
  ::getnameinfo(&address, size_of(address), text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
  text_ = text.data();
}

std::string LocalAddress::in_endpoint() const {
  return address_.ss_family == AF_INET6 ? '[' + text_ + ']' : text_;
}

bool LocalAddress::is_loopback() const noexcept {
  if (address_.ss_family == AF_INET6) {
    const in6_addr& address = reinterpret_cast<const sockaddr_in6&>(address_).sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(&address) ||
           (IN6_IS_ADDR_V4MAPPED(&address) && address.s6_addr[12] == loopback_net);
  }
  const in_addr& address = reinterpret_cast<const sockaddr_in&>(address_).sin_addr;
  return ntohl(address.s_addr) >> 24U == loopback_net;
}

bool LocalAddress::is_wildcard() const noexcept {
  if (address_.ss_family == AF_INET6) {
    return IN6_IS_ADDR_UNSPECIFIED(&reinterpret_cast<const sockaddr_in6&>(address_).sin6_addr);
  }
  return reinterpret_cast<const sockaddr_in&>(address_).sin_addr.s_addr == INADDR_ANY;
}

}  // namespace danaus::worker
