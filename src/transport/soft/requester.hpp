// Requester: the active half of a soft queue pair. Dials the peer, sends requests in order, reads
// their responses in order, and turns them into completions. Within one host it may copy: long puts
// are copied by the peer, long gets by itself, once the peer has granted that region. What it has
// granted once is got without asking again: the peer has no part in it, as with an RDMA read. The
// parts: requester_sending.cpp, requester_receiving.cpp, requester_copying.cpp. Guarded by its
// queue pair's mutex; never blocks. Touches local memory only inside system calls, each under a use
// of its region, so memory that vanished is an error status and not a crash.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "transport/soft/frame.hpp"
#include "transport/soft/known_grants.hpp"
#include "transport/soft/region_table.hpp"
#include "transport/soft/requester_connection.hpp"
#include "transport/soft/ring.hpp"
#include "transport/types.hpp"

namespace danaus::transport::soft {

/// The most payload that one system call moves, so that a region is never in use for long; also
/// what one turn of progress moves.
inline constexpr std::uint64_t max_turn_length = std::uint64_t{1} << 20U;

/// From this length on, copying is faster than sending the payload through the socket.
inline constexpr std::uint64_t copy_threshold = std::uint64_t{16} << 10U;

/// Answers read ahead at most.
inline constexpr std::size_t inbox_frames = 32;

/// How long `begin_read` lets its caller block: others may have something to be done meanwhile.
inline constexpr std::chrono::milliseconds read_limit{1};

class Requester {
 public:
  Requester(std::shared_ptr<const RegionTable> regions, std::uint32_t max_send_wr,
            std::shared_ptr<EngineState> engine);

  /// Where to dial and what to say there; before the first `post`.
  void connect(std::vector<Route> routes, const Hello& hello);

  /// Adds a work request; there must be a free slot. Does not send yet.
  void post(const WorkRequest& request);

  /// Sends what the socket takes, at most `budget` bytes of payload, which it reduces.
  void send(std::uint64_t& budget);

  /// Reads what has come, at most `budget` bytes of payload, which it reduces.
  void receive(std::uint64_t& budget);

  /// Begins to read outside of the mutex where only short answers are awaited: so many bytes, from
  /// `socket`, blocking for a moment at most. 0: there is more to do than that. Until `end_read`
  /// nobody else reads, and the socket stays open, though it may be shut down.
  [[nodiscard]] std::size_t begin_read() noexcept;
  void end_read(std::span<const std::byte> bytes);

  /// Ends everything outstanding: the oldest with its own status if it has one already, else with
  /// `status`; the rest as flushed. Closes the connection. Idempotent.
  void fail(CompletionStatus status) noexcept;

  /// Takes completions, oldest first.
  std::size_t take(std::span<WorkCompletion> completions) noexcept;

  /// Whether the idle connection has been closed by the peer, or spoken on out of turn. False while
  /// there is no connection, and while something is outstanding (then `receive` finds out).
  [[nodiscard]] bool peer_hung_up() const noexcept;

  /// A failure ended it: the queue pair belongs in ERR.
  [[nodiscard]] bool failed() const noexcept { return failed_; }
  [[nodiscard]] bool reading() const noexcept { return reading_; }
  /// There is copying to go on with, whatever the socket says.
  [[nodiscard]] bool has_to_copy() const noexcept {
    return !outstanding_.empty() && outstanding_.front().grant != 0;
  }
  [[nodiscard]] bool has_outstanding() const noexcept { return !outstanding_.empty(); }
  [[nodiscard]] bool has_completions() const noexcept { return !completions_.empty(); }
  /// Whether the socket owes room for data that wait to be sent.
  [[nodiscard]] bool wants_to_send() const noexcept;
  [[nodiscard]] std::uint32_t free_slots() const noexcept;
  /// -1 while there is no connection.
  [[nodiscard]] int socket() const noexcept { return connection_.socket(); }
  /// As RequesterConnection.
  [[nodiscard]] std::size_t dials() const noexcept { return connection_.dials(); }
  [[nodiscard]] std::string_view path() const noexcept { return connection_.path(); }
  /// Whether puts and gets of `length` bytes are copied.
  [[nodiscard]] bool copies(std::uint64_t length) const noexcept {
    return connection_.peer() != nullptr && length >= copy_threshold;
  }

 private:
  struct Outstanding {
    WorkRequest request;
    std::uint32_t sequence = 0;
    /// Of a get.
    std::uint64_t received = 0;
    /// Decided when it begins to be sent.
    bool copied = false;
    /// False: the peer is not told of it.
    bool asked = true;
    /// Where the rkey of a get by copy stands, once its bytes may be copied; 0 before.
    std::uint64_t grant = 0;
    /// Looked up when its turn to be sent comes.
    std::shared_ptr<Region> region;
    /// Set when it failed here; reported once those before it are over.
    std::optional<CompletionStatus> failure;

    [[nodiscard]] bool changes_memory() const noexcept {
      return request.opcode != Opcode::rdma_read;
    }
    [[nodiscard]] bool awaits_data() const noexcept {
      return request.opcode == Opcode::rdma_read && request.length != 0 && !copied;
    }
    [[nodiscard]] std::uint64_t payload_to_send() const noexcept {
      return is_write(request.opcode) && !copied ? request.length : 0;
    }
  };

  /// What a system call or a frame came to.
  enum class Flow { moved, stopped };

  Flow send_some(Outstanding& current, std::uint64_t& budget);
  void advance_send(const Outstanding& current, std::uint64_t sent, std::uint64_t& budget);
  [[nodiscard]] bool check_local(Outstanding& current);
  [[nodiscard]] bool take_as_granted(Outstanding& current) noexcept;
  void count_sent(const Outstanding& current, int change) noexcept;
  [[nodiscard]] bool has_to_wait() const noexcept;
  [[nodiscard]] RequestHeader header_of(const Outstanding& current) const noexcept;
  Flow receive_probe();
  Flow copy_payload(std::uint64_t& budget);
  [[nodiscard]] CompletionStatus after_copy_error(int error, std::uint64_t own_address) noexcept;
  Flow receive_frames();
  Flow receive_payload(std::uint64_t& budget);
  Flow handle_inbox();
  Flow handle(const Response& response);
  [[nodiscard]] bool store_result(const Outstanding& current, std::uint64_t value);
  Flow complete_front();
  Flow after_receive_error(int error);
  void connection_lost();
  void dial_next();
  void finish_front(CompletionStatus status) noexcept;
  [[nodiscard]] std::size_t frames_expected() const noexcept;

  std::shared_ptr<const RegionTable> regions_;
  Ring<Outstanding> outstanding_;
  Ring<WorkCompletion> completions_;
  /// Of the next one that is sent.
  std::uint32_t next_sequence_ = 0;
  /// Mostly the same as before, and then not looked up.
  std::shared_ptr<Region> last_region_;

  RequesterConnection connection_;
  KnownGrants known_grants_;
  /// Gets by copy that are wholly sent, or need not be, and are not over. What changes memory waits
  /// for them.
  int copied_gets_ = 0;
  /// What changes memory and is wholly sent and not over. A get that follows it has to ask.
  int sent_changes_ = 0;

  /// Index of the first work request that is not wholly sent, and how much of it is, header
  /// included.
  std::size_t sending_ = 0;
  std::uint64_t sent_ = 0;
  /// The peer takes nothing more, but may have said why.
  bool send_broken_ = false;
  bool failed_ = false;
  /// Between `begin_read` and `end_read`.
  bool reading_ = false;

  /// Frames read ahead, never payload: a frame at its end may be incomplete.
  std::array<std::byte, inbox_frames * sizeof(Response)> inbox_{};
  std::size_t inbox_size_ = 0;
  /// Payload still to come of the current Response{data}, for the oldest work request.
  std::uint64_t chunk_remaining_ = 0;
};

}  // namespace danaus::transport::soft
