// RequesterConnection: a requester's connection to its peer: tries one route after the other and,
// within one host, finds out whether each side may read the other's memory. What is said on it
// afterwards is the requester's business.
// Guarded by its queue pair's mutex; never blocks.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "transport/soft/engine_state.hpp"
#include "transport/soft/file_descriptor.hpp"
#include "transport/soft/frame.hpp"
#include "transport/soft/peer_process.hpp"
#include "transport/soft/route.hpp"

namespace danaus::transport::soft {

/// What reading the peer's probe came to.
enum class ProbeOutcome : std::uint8_t {
  /// It is not there yet.
  waiting,
  /// Memory may be read both ways.
  open,
  /// It may not: take another route.
  refused,
  /// The connection is over.
  lost,
  /// What came is no probe.
  garbage,
};

class RequesterConnection {
 public:
  explicit RequesterConnection(std::shared_ptr<EngineState> engine) : engine_{std::move(engine)} {}

  /// Where to dial, best first, and what to say there first.
  void set_routes(std::vector<Route> routes, const Hello& hello);

  /// Begins a connection by the next route. False when there is none left.
  [[nodiscard]] bool dial_next();
  [[nodiscard]] bool has_next_route() const noexcept { return next_route_ < routes_.size(); }

  /// -1 while there is no connection.
  [[nodiscard]] int socket() const noexcept { return socket_.get(); }
  [[nodiscard]] bool is_open() const noexcept { return static_cast<bool>(socket_); }
  /// How many sockets there have been: tells a new one from an old one of the same number.
  [[nodiscard]] std::size_t dials() const noexcept { return next_route_; }
  /// How the bytes go, or would.
  [[nodiscard]] std::string_view path() const noexcept;

  /// Our probe is sent, the peer's has not come: nothing else may be sent.
  [[nodiscard]] bool probing() const noexcept { return probing_; }
  [[nodiscard]] ProbeOutcome receive_probe();
  /// Whose memory may be read; nothing over TCP.
  [[nodiscard]] const PeerProcess* peer() const noexcept { return peer_ ? &*peer_ : nullptr; }

  /// What is left of the hello, which goes before all else.
  [[nodiscard]] std::span<std::byte> hello_left() noexcept {
    return std::span{hello_}.subspan(hello_sent_);
  }
  void hello_sent(std::size_t size) noexcept { hello_sent_ += size; }
  /// The peer may know of it.
  [[nodiscard]] bool introduced() const noexcept { return hello_sent_ != 0; }

  /// Has receives without MSG_DONTWAIT wait for `limit`. False when the kernel refuses.
  [[nodiscard]] bool block(std::chrono::microseconds limit) noexcept;

  /// `abandoned`: work is under way that nobody waits for any more. `being_read`: another thread is
  /// in a receive, so that the descriptor has to live until `reading_ended`.
  void close(bool abandoned, bool being_read) noexcept;
  void reading_ended() noexcept { closing_.reset(); }

 private:
  [[nodiscard]] bool begin_probe();
  void tell_refusal(const std::error_code& reason);

  // Shared, as it may end before this does.
  std::shared_ptr<EngineState> engine_;
  FileDescriptor socket_;
  /// Closed while it was read from.
  FileDescriptor closing_;
  std::vector<Route> routes_;
  std::size_t next_route_ = 0;
  std::array<std::byte, sizeof(Hello)> hello_{};
  std::size_t hello_sent_ = 0;
  bool blocking_ = false;

  bool probing_ = false;
  std::array<std::byte, sizeof(Probe)> probe_{};
  std::size_t probe_size_ = 0;
  std::optional<PeerProcess> peer_;
};

}  // namespace danaus::transport::soft
