// ResponderConnection: one peer's connection, from its hello to its end; its requests are carried
// out by a RequestServer. On its responder's thread, but for `hang_up`. Waits for its peer by
// awaiting, or, alone on its thread, in a system call for a moment.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>

#include <asio/awaitable.hpp>
#include <asio/generic/stream_protocol.hpp>
#include <asio/steady_timer.hpp>

#include "transport/soft/engine_state.hpp"
#include "transport/soft/frame.hpp"
#include "transport/soft/request_server.hpp"
#include "transport/spin_credit.hpp"

namespace danaus::transport::soft {

class Responder;

class ResponderConnection : public std::enable_shared_from_this<ResponderConnection> {
 public:
  ResponderConnection(asio::generic::stream_protocol::socket socket, Responder& home,
                      std::shared_ptr<EngineState> engine);
  ResponderConnection(const ResponderConnection&) = delete;
  ResponderConnection& operator=(const ResponderConnection&) = delete;
  ~ResponderConnection();

  /// The whole life of a connection. Keeps it alive meanwhile.
  static asio::awaitable<void> serve(std::shared_ptr<ResponderConnection> self);

  void close() noexcept;
  /// Closes it for having kept us waiting.
  void expire() noexcept;
  /// Closes it soon. Any thread.
  void hang_up();

 private:
  asio::awaitable<bool> introduce();
  asio::awaitable<bool> exchange_probes();
  asio::awaitable<bool> receive_hello();
  asio::awaitable<bool> receive(std::span<std::byte> bytes);
  asio::awaitable<bool> find_queue_pair(const Hello& hello);
  asio::awaitable<void> serve_requests();
  asio::awaitable<void> part_after_error();
  asio::awaitable<bool> finish(Step (RequestServer::*next)(), Step step);
  asio::awaitable<bool> until(Step step);
  asio::awaitable<bool> await_receive();

  [[nodiscard]] bool may_keep_the_thread() const;
  Step linger();
  bool spin();
  void start_deadline(std::chrono::milliseconds patience);

  asio::generic::stream_protocol::socket socket_;
  /// Held while it is closed, and by `hang_up`, which comes from any thread.
  std::mutex closing_;
  asio::steady_timer timer_;
  asio::steady_timer receive_timer_;
  Responder& home_;
  std::shared_ptr<EngineState> engine_;
  /// Over AF_UNIX.
  bool within_host_ = false;
  /// The requester's process, once both have found that they may copy.
  std::optional<PeerProcess> peer_;
  /// Once the hello is accepted.
  std::optional<RequestServer> requests_;

  /// From the last time that others had their turn.
  std::chrono::steady_clock::time_point linger_until_;
  /// The last time that it lingered, a request came.
  bool awaited_ = false;
  /// Receives without MSG_DONTWAIT wait.
  bool blocking_ = false;
  SpinCredit spin_credit_;
};

}  // namespace danaus::transport::soft
