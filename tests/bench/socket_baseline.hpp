// The baseline: the plainest way to move the same bytes: one blocking TCP socket with TCP_NODELAY,
// receives of up to 4 MiB, one byte of acknowledgement.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace danaus::bench {

/// The passive side: accepts one connection and serves it until it closes.
class BaselineServer {
 public:
  explicit BaselineServer(std::span<std::byte> memory);
  BaselineServer(const BaselineServer&) = delete;
  BaselineServer& operator=(const BaselineServer&) = delete;
  ~BaselineServer();

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  void serve();

 private:
  std::span<std::byte> memory_;
  int listener_;
  std::uint16_t port_ = 0;
};

/// The active side. What follows is announced by a length and a direction, once, so that neither a
/// put nor a get carries a header of its own.
class BaselineClient {
 public:
  explicit BaselineClient(std::uint16_t port);
  BaselineClient(const BaselineClient&) = delete;
  BaselineClient& operator=(const BaselineClient&) = delete;
  ~BaselineClient();

  /// The next `count` operations are puts (or gets) of `length` bytes.
  void announce(bool is_put, std::uint64_t length, std::uint64_t count) const;
  /// Sends all of `source` and waits for the acknowledgement.
  void put(std::span<const std::byte> source) const;
  /// Asks with one byte and receives all of `destination`.
  void get(std::span<std::byte> destination) const;

 private:
  int socket_;
};

}  // namespace danaus::bench
