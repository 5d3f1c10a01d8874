#include "transport/soft/listener.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <string>
#include <system_error>
#include <utility>

#include <asio/co_spawn.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/post.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>

#include "messages/error.hpp"
#include "transport/soft/route.hpp"

namespace danaus::transport::soft {
namespace {

using asio::ip::tcp;

/// Between attempts while the process or the system is out of descriptors or memory.
constexpr std::chrono::milliseconds accept_pause{100};

// By errno: Asio 1.22's own category does not translate EMFILE, say, for a comparison with
// std::errc.
bool is_shortage(const asio::error_code& error) noexcept {
  switch (error.value()) {
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
      return true;
    default:
      return false;
  }
}

// Of the connection that was to be accepted, not of the listener (accept(2), "Error handling").
bool is_of_the_connection(const asio::error_code& error) noexcept {
  switch (error.value()) {
    case ECONNABORTED:
    case EINTR:
    case EPERM:
    case EPROTO:
    case ENETDOWN:
    case ENOPROTOOPT:
    case EHOSTDOWN:
    case ENONET:
    case EHOSTUNREACH:
    case EOPNOTSUPP:
    case ENETUNREACH:
    case ETIMEDOUT:
      return true;
    default:
      return false;
  }
}

}  // namespace

Acceptor listen_on_tcp(asio::io_context& context, const std::string& address, std::uint16_t port) {
  try {
    tcp::resolver resolver{context};
    const auto found = resolver.resolve(address, std::to_string(port),
                                        tcp::resolver::numeric_service | tcp::resolver::passive);
    return Acceptor{context, found.begin()->endpoint(), /*reuse_addr=*/true};
  } catch (const std::system_error& failure) {
    throw Error{ErrorCode::io_failed,
                fmt::format("cannot listen for data on {}:{}: {}; choose another address or port",
                            address, port, failure.code().message())};
  }
}

std::uint16_t port_of(const Acceptor& acceptor) {
  tcp::endpoint endpoint;
  const auto generic = acceptor.local_endpoint();
  endpoint.resize(generic.size());
  std::memcpy(endpoint.data(), generic.data(), generic.size());
  return endpoint.port();
}

std::expected<Acceptor, std::error_code> listen_on_unix(asio::io_context& context,
                                                        const std::string& name) {
  const auto address = unix_address(name);
  Acceptor acceptor{context};
  asio::error_code error;
  acceptor.open(asio::generic::stream_protocol{AF_UNIX, 0}, error);
  if (!error) {
    acceptor.bind({&address->address, address->address_length}, error);
  }
  if (!error) {
    acceptor.listen(asio::socket_base::max_listen_connections, error);
  }
  if (error) {
    return std::unexpected{error};
  }
  return acceptor;
}

Listener::Listener(Acceptor acceptor, std::shared_ptr<EngineState> engine,
                   const std::vector<std::unique_ptr<Responder>>& responders)
    : responders_{responders},
      engine_{std::move(engine)},
      acceptor_{std::move(acceptor)},
      pause_{responders.front()->context()} {
  asio::co_spawn(responders_.front()->context(), accept_connections(),
                 [](const std::exception_ptr& failure) {
                   if (failure) {
                     std::rethrow_exception(failure);
                   }
                 });
}

void Listener::stop() {
  asio::post(acceptor_.get_executor(), [this] {
    asio::error_code ignored;
    acceptor_.close(ignored);
    pause_.cancel();
  });
}

asio::awaitable<void> Listener::accept_connections() {
  std::size_t next = 0;
  while (acceptor_.is_open()) {
    Responder& responder = *responders_[next];
    asio::error_code error;
    auto token = asio::redirect_error(asio::use_awaitable, error);
    auto accepted = acceptor_.async_accept(responder.context(), token);
    asio::generic::stream_protocol::socket socket = co_await std::move(accepted);
    if (!error) {
      responder.adopt(std::move(socket));
      next = (next + 1) % responders_.size();
    } else if (is_shortage(error)) {
      if (engine_->counters.accept_pauses.fetch_add(1) == 0) {
        spdlog::warn(
            "soft: pausing accepting data connections: {}; raise the limit on open files "
            "(ulimit -n)",
            error.message());
      }
      pause_.expires_after(accept_pause);
      asio::error_code ignored;
      auto pause_token = asio::redirect_error(asio::use_awaitable, ignored);
      auto pause = pause_.async_wait(pause_token);
      co_await std::move(pause);
    } else if (!is_of_the_connection(error) && acceptor_.is_open()) {
      throw std::system_error{error, "the listener for data connections failed"};
    }
  }
}

}  // namespace danaus::transport::soft
