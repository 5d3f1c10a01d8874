// RequestServer: carries out the requests that come in on one connection, in order: checks each,
// moves its bytes straight between the socket and registered memory, and answers. Every step is one
// system call of at most 1 MiB, which never waits but in `linger`; who waits between steps is the
// caller's business. On its connection's responder thread. Touches memory only inside system calls.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "transport/soft/counters.hpp"
#include "transport/soft/frame.hpp"
#include "transport/soft/peer_process.hpp"
#include "transport/soft/queue_pair_core.hpp"
#include "transport/soft/region_table.hpp"

namespace danaus::transport::soft {

/// What a step came to, and what has to happen before the next one.
enum class Step : std::uint8_t {
  done,
  /// Once the socket is readable, or can take data.
  readable,
  writable,
  /// Once others have had their turn.
  next_turn,
  /// Once the queue pair has a receive.
  receive_posted,
  /// The connection is over.
  lost,
};

/// After a system call that failed with `error`; `if_not_ready` where it would have had to wait.
[[nodiscard]] Step after_failed_call(int error, Step if_not_ready) noexcept;

class RequestServer {
 public:
  /// `socket` and `counters` outlive it. `peer`: the requester's process, where copies are
  /// possible.
  RequestServer(int socket, std::shared_ptr<QueuePairCore> queue_pair, Counters& counters,
                std::optional<PeerProcess> peer = std::nullopt) noexcept
      : socket_{socket},
        queue_pair_{std::move(queue_pair)},
        counters_{counters},
        peer_{std::move(peer)} {}

  [[nodiscard]] QueuePairCore& queue_pair() const noexcept { return *queue_pair_; }

  // One request after the other: `receive_header` until it is done, `begin_request`, `move_payload`
  // until it is done, `deliver_immediate` until it is done, `send_status` until it is done.
  Step receive_header();
  /// As `receive_header`, by somebody who waits: without waiting, and on a socket whose receives
  /// wait for a moment.
  Step poll_header() { return await_header(MSG_DONTWAIT); }
  Step linger() { return await_header(0); }
  void begin_request();
  Step move_payload();
  Step deliver_immediate();
  Step send_status();

  /// The request under way was refused or failed: its status is the last thing said.
  [[nodiscard]] bool failed() const noexcept { return status_ != CompletionStatus::success; }
  /// Throws away what the requester sends on after that.
  Step discard();

 private:
  Step await_header(int flags);
  Step put_turn();
  Step copy_turn();
  Step get_turn();
  Step atomic_turn();
  Step fault(std::uint64_t own_address) noexcept;
  [[nodiscard]] bool copied() const noexcept { return (request_.flags & by_copy) != 0; }
  Step pad_chunk();
  std::int64_t receive_with_next_header(std::uint64_t size);
  Step take_header(std::int64_t result);
  Step fail_get(CompletionStatus status) noexcept;
  [[nodiscard]] std::uint64_t chunk_length() const noexcept;
  [[nodiscard]] Response response(ResponseKind kind, std::uint64_t length) const noexcept;

  int socket_;
  std::shared_ptr<QueuePairCore> queue_pair_;
  Counters& counters_;
  std::optional<PeerProcess> peer_;

  /// The next request's header, read ahead with the payload before it.
  std::array<std::byte, sizeof(RequestHeader)> header_{};
  std::size_t header_size_ = 0;
  /// The last receive took all there was: wait before asking again.
  bool drained_ = true;
  /// The header under way had to be waited for: its requester is not ahead of its answers.
  bool awaited_ = false;

  // The request under way.
  RequestHeader request_{};
  std::uint32_t next_sequence_ = 0;
  /// Kept from one request to the next: mostly it is the same one.
  std::shared_ptr<Region> region_;
  CompletionStatus status_ = CompletionStatus::success;
  /// Payload bytes of whole turns (put) or whole chunks (get).
  std::uint64_t moved_ = 0;
  /// Of a get: bytes sent of the current chunk, its header and a completion behind it included.
  std::uint64_t chunk_sent_ = 0;
  bool padding_ = false;
  std::size_t status_sent_ = 0;
  /// Of an atomic: what was there before.
  std::uint64_t answer_ = 0;
  /// Bytes that came after an error was answered.
  std::uint64_t discarded_ = 0;
};

}  // namespace danaus::transport::soft
