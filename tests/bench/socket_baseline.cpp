#include "tests/bench/socket_baseline.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace danaus::bench {
namespace {

constexpr std::size_t receive_length = std::size_t{4} << 20U;

struct Announcement {
  std::uint64_t is_put = 0;
  std::uint64_t length = 0;
  std::uint64_t count = 0;
};

void check(bool good, const char* what) {
  if (!good) {
    throw std::system_error{errno, std::generic_category(), what};
  }
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

void send_at_once(int socket) {
  const int on = 1;
  check(::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0, "TCP_NODELAY");
}

void send_all(int socket, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    check(count > 0, "send");
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

/// False: the peer closed before the first byte.
bool receive_all(int socket, std::span<std::byte> bytes) {
  std::size_t received = 0;
  while (received < bytes.size()) {
    const ssize_t count = ::recv(socket, bytes.data() + received,
                                 std::min(receive_length, bytes.size() - received), 0);
    check(count >= 0, "recv");
    if (count == 0) {
      return false;
    }
    received += static_cast<std::size_t>(count);
  }
  return true;
}

}  // namespace

BaselineServer::BaselineServer(std::span<std::byte> memory)
    : memory_{memory}, listener_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
  auto address = loopback(0);
  socklen_t length = sizeof address;
  check(::bind(listener_, reinterpret_cast<const sockaddr*>(&address), length) == 0, "bind");
  check(::listen(listener_, 1) == 0, "listen");
  check(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length) == 0,
        "getsockname");
  port_ = ntohs(address.sin_port);
}

BaselineServer::~BaselineServer() {
  ::close(listener_);
}

void BaselineServer::serve() {
  const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  check(socket >= 0, "accept");
  send_at_once(socket);
  Announcement announced;
  std::array<std::byte, 1> one{};
  while (receive_all(socket, std::as_writable_bytes(std::span{&announced, 1}))) {
    const auto memory = memory_.first(announced.length);
    for (std::uint64_t i = 0; i < announced.count; ++i) {
      if (announced.is_put != 0) {
        receive_all(socket, memory);
        send_all(socket, one);
      } else {
        receive_all(socket, one);
        send_all(socket, memory);
      }
    }
  }
  ::close(socket);
}

BaselineClient::BaselineClient(std::uint16_t port)
    : socket_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
  const auto address = loopback(port);
  check(::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0,
        "connect");
  send_at_once(socket_);
}

BaselineClient::~BaselineClient() {
  ::close(socket_);
}

void BaselineClient::announce(bool is_put, std::uint64_t length, std::uint64_t count) const {
  const Announcement announced{.is_put = is_put ? 1U : 0U, .length = length, .count = count};
  send_all(socket_, std::as_bytes(std::span{&announced, 1}));
}

void BaselineClient::put(std::span<const std::byte> source) const {
  send_all(socket_, source);
  std::array<std::byte, 1> acknowledgement{};
  check(receive_all(socket_, acknowledgement), "acknowledgement");
}

void BaselineClient::get(std::span<std::byte> destination) const {
  const std::array<std::byte, 1> request{};
  send_all(socket_, request);
  check(receive_all(socket_, destination), "answer");
}

}  // namespace danaus::bench
