#include "transport/soft/requester_connection.hpp"

#include <spdlog/spdlog.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "transport/soft/copy_probe.hpp"
#include "transport/soft/system_call.hpp"

namespace danaus::transport::soft {

void RequesterConnection::set_routes(std::vector<Route> routes, const Hello& hello) {
  routes_ = std::move(routes);
  hello_ = encode(hello);
}

std::string_view RequesterConnection::path() const noexcept {
  if (routes_.empty()) {
    return "tcp";
  }
  return routes_[next_route_ == 0 ? 0 : next_route_ - 1].path;
}

bool RequesterConnection::dial_next() {
  probing_ = false;
  while (next_route_ < routes_.size()) {
    const Route& route = routes_[next_route_++];
    auto socket = dial(route);
    if (socket) {
      socket_ = *std::move(socket);
      blocking_ = false;
      if (route.address.ss_family != AF_UNIX || begin_probe()) {
        return true;
      }
    }
  }
  return false;
}

bool RequesterConnection::block(std::chrono::microseconds limit) noexcept {
  blocking_ = blocking_ || block_receives(socket_.get(), limit);
  return blocking_;
}

void RequesterConnection::close(bool abandoned, bool being_read) noexcept {
  if (!socket_) {
    return;
  }
  if (probing_) {
    // So that the peer knows who goes away.
    static_cast<void>(
        ::send(socket_.get(), hello_.data(), hello_.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
  }
  if (abandoned) {
    // Reset the connection instead of letting the kernel deliver what it has buffered.
    const ::linger now{.l_onoff = 1, .l_linger = 0};
    static_cast<void>(::setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now));
  }
  if (being_read) {
    // Closed, its number could come to mean another socket to whoever reads.
    static_cast<void>(::shutdown(socket_.get(), SHUT_RD));
    closing_ = std::move(socket_);
  }
  socket_.reset();
  probing_ = false;
}

// -- within one host ------------------------------------------------------------------------------

// Tells the peer where to find our nonce. False when it cannot be told.
bool RequesterConnection::begin_probe() {
  const auto probe = encode(engine_->nonce.probe());
  probe_size_ = 0;
  // The first that this connection sends: there is room.
  const ssize_t sent =
      ::send(socket_.get(), probe.data(), probe.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  probing_ = sent == static_cast<ssize_t>(probe.size());
  return probing_;
}

ProbeOutcome RequesterConnection::receive_probe() {
  const ssize_t result =
      ::recv(socket_.get(), probe_.data() + probe_size_, probe_.size() - probe_size_, MSG_DONTWAIT);
  if (result <= 0) {
    return result < 0 && (would_block(errno) || errno == EINTR) ? ProbeOutcome::waiting
                                                                : ProbeOutcome::lost;
  }
  probe_size_ += static_cast<std::size_t>(result);
  if (probe_size_ < probe_.size()) {
    return ProbeOutcome::waiting;
  }
  const auto theirs = decode_probe(probe_);
  if (!theirs) {
    return ProbeOutcome::garbage;
  }
  std::error_code reason{static_cast<int>(theirs->failure), std::generic_category()};
  if (!reason) {
    auto peer = reach(socket_.get(), *theirs);
    if (peer) {
      peer_ = *std::move(peer);
      probing_ = false;
      return ProbeOutcome::open;
    }
    reason = peer.error();
  }
  tell_refusal(reason);
  return ProbeOutcome::refused;
}

// A slower way is taken: that is said once, and shown by `path`.
void RequesterConnection::tell_refusal(const std::error_code& reason) {
  count(engine_->counters.refused_copies);
  if (!engine_->refusal_told.exchange(true)) {
    spdlog::warn(
        "soft: copies within this host are refused: {}; bytes go over TCP where that is allowed. "
        "Both processes need the same user and PID namespace, and leave of Yama "
        "(kernel.yama.ptrace_scope) and seccomp to call process_vm_readv(2). Told once",
        reason.message());
  }
}

}  // namespace danaus::transport::soft
