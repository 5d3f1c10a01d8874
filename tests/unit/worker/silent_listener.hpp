// SilentListener: a TCP port that lets peers connect and never says a word, as a stopped process
// does.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>

namespace danaus::testing {

class SilentListener {
 public:
  SilentListener() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(socket_, generic, sizeof(address)), 0);
    EXPECT_EQ(::listen(socket_, SOMAXCONN), 0);
    socklen_t length = sizeof(address);
    EXPECT_EQ(::getsockname(socket_, generic, &length), 0);
    port_ = ntohs(address.sin_port);
  }
  SilentListener(const SilentListener&) = delete;
  SilentListener& operator=(const SilentListener&) = delete;
  ~SilentListener() {
    if (connection_ >= 0) {
      ::close(connection_);
    }
    ::close(socket_);
  }

  /// Returns when somebody has connected; the connection is closed with the listener's end.
  void wait_for_connection() {
    connection_ = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
    EXPECT_GE(connection_, 0);
  }

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::string endpoint() const { return "tcp://127.0.0.1:" + std::to_string(port_); }

 private:
  int socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int connection_ = -1;
  std::uint16_t port_ = 0;
};

}  // namespace danaus::testing
