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
#include <asio/basic_socket_acceptor.hpp>
#include <asio/generic/stream_protocol.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>

#include "transport/soft/engine_state.hpp"
#include "transport/soft/responder.hpp"

namespace danaus::transport::soft {

using Acceptor = asio::basic_socket_acceptor<asio::generic::stream_protocol>;

/// Throws Error: IoFailed.
[[nodiscard]] Acceptor listen_on_tcp(asio::io_context& context, const std::string& address,
                                     std::uint16_t port);
[[nodiscard]] std::uint16_t port_of(const Acceptor& acceptor);

/// `name` as in Route.
[[nodiscard]] std::expected<Acceptor, std::error_code> listen_on_unix(asio::io_context& context,
                                                                      const std::string& name);

class Listener {
 public:
  /// Accepts once the context runs. `responders` outlive it, the first one's context is
  /// `acceptor`'s and runs it.
  Listener(Acceptor acceptor, std::shared_ptr<EngineState> engine,
           const std::vector<std::unique_ptr<Responder>>& responders);
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  /// Stops accepting and lets the context run out. Any thread. Destroy it when nobody runs the
  /// context any more.
  void stop();

 private:
  asio::awaitable<void> accept_connections();

  const std::vector<std::unique_ptr<Responder>>& responders_;
  std::shared_ptr<EngineState> engine_;
  Acceptor acceptor_;
  asio::steady_timer pause_;
};

}  // namespace danaus::transport::soft
