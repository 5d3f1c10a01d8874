// ResponderConnection: one peer's requests, carried out in order. Reads a hello, then for each
// request checks it, moves its bytes straight between the socket and registered memory, and
// answers. On its responder's thread, but for `hang_up`. Never waits for its peer but by awaiting;
// moves at most 1 MiB before others get their turn; touches memory only inside system calls.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <asio/awaitable.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>

#include "transport/soft/engine_state.hpp"
#include "transport/soft/frame.hpp"
#include "transport/soft/queue_pair_core.hpp"
#include "transport/soft/region_table.hpp"

namespace danaus::transport::soft {

class Responder;

class ResponderConnection : public std::enable_shared_from_this<ResponderConnection> {
 public:
  ResponderConnection(asio::ip::tcp::socket socket, Responder& home,
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
  /// What a step came to, and what has to happen before the next one.
  enum class Step : std::uint8_t { done, readable, writable, next_turn, lost };

  asio::awaitable<bool> receive_hello();
  asio::awaitable<bool> find_queue_pair(const Hello& hello);
  asio::awaitable<void> serve_requests();
  asio::awaitable<void> part_after_error();
  asio::awaitable<bool> finish(Step (ResponderConnection::*next)(), Step step);
  asio::awaitable<bool> until(Step step);

  Step receive_header();
  Step linger();
  void begin_request();
  Step move_payload();
  Step put_turn();
  Step get_turn();
  Step pad_chunk();
  Step send_status();
  Step discard();
  Step after_failed_call(int error, Step if_not_ready);
  [[nodiscard]] std::uint64_t chunk_length() const noexcept;
  void fail_request(CompletionStatus status) noexcept;
  void start_deadline(std::chrono::milliseconds patience);

  asio::ip::tcp::socket socket_;
  asio::steady_timer timer_;
  Responder& home_;
  std::shared_ptr<EngineState> engine_;
  std::shared_ptr<QueuePairCore> queue_pair_;

  /// The next request's header, read ahead with the payload before it.
  std::array<std::byte, sizeof(RequestHeader)> header_{};
  std::size_t header_size_ = 0;
  /// The last receive took all there was: wait before asking again.
  bool drained_ = true;
  /// From the last time that others had their turn.
  std::chrono::steady_clock::time_point linger_until_;
  /// Receives without MSG_DONTWAIT wait.
  bool blocking_ = false;

  // The request under way.
  RequestHeader request_{};
  std::uint32_t next_sequence_ = 0;
  std::shared_ptr<Region> region_;
  CompletionStatus status_ = CompletionStatus::success;
  /// Payload bytes of whole turns (put) or whole chunks (get).
  std::uint64_t moved_ = 0;
  /// Of a get: bytes sent of the current chunk, its header and a completion behind it included.
  std::uint64_t chunk_sent_ = 0;
  bool padding_ = false;
  std::size_t status_sent_ = 0;
  /// Bytes that came after an error was answered.
  std::uint64_t discarded_ = 0;
};

}  // namespace danaus::transport::soft
