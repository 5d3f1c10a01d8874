// Listener: accepts data connections and spreads them over the responders. Outlives a shortage of
// descriptors; anything else that breaks it ends its context's run.
// On the first responder's thread, but for what is marked otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <asio/awaitable.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>

#include "transport/soft/engine_state.hpp"
#include "transport/soft/responder.hpp"

namespace danaus::transport::soft {

class Listener {
 public:
  /// Binds and listens; accepts once the context runs. `responders` outlive it, the first one's
  /// context runs it. Throws Error: IoFailed.
  Listener(const std::string& address, std::uint16_t port, std::shared_ptr<EngineState> engine,
           const std::vector<std::unique_ptr<Responder>>& responders);
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  /// Any thread, before `stop`.
  [[nodiscard]] std::uint16_t port() const;

  /// Stops accepting and lets the context run out. Any thread. Destroy it when nobody runs the
  /// context any more.
  void stop();

 private:
  asio::awaitable<void> accept_connections();

  const std::vector<std::unique_ptr<Responder>>& responders_;
  std::shared_ptr<EngineState> engine_;
  asio::ip::tcp::acceptor acceptor_;
  asio::steady_timer pause_;
};

}  // namespace danaus::transport::soft
