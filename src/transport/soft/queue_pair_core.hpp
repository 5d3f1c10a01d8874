// QueuePairCore: all of a soft queue pair: its state, its requester, and its hold on the connection
// by which the peer's requests come in.
// Shared, as three may hold it at once: the SoftQueuePair (the caller's), the responder's
// connection, and a turn of the data thread. `close` ends it; the others then find it closed and
// let go.
//
// Any thread. Locks, in order: `mutex_`, then `turn_mutex_`, then a region table's own; a region's
// use is no lock. Nothing is called under them that takes a lock of another queue pair.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include <asio/io_context.hpp>

#include "messages/error.hpp"
#include "messages/values.hpp"
#include "transport/soft/background_progress.hpp"
#include "transport/soft/completion_channel.hpp"
#include "transport/soft/receive_queue.hpp"
#include "transport/soft/region_table.hpp"
#include "transport/soft/requester.hpp"
#include "transport/soft/route.hpp"
#include "transport/transport.hpp"

namespace danaus::transport::soft {

/// What a hello is answered with.
enum class Admission : std::uint8_t {
  accepted,
  /// Not connected yet: ask again, for a while.
  not_ready,
  refused,
};

/// What became of an immediate.
enum class Delivery : std::uint8_t {
  delivered,
  /// No receive is posted: `await_receive`.
  no_receive,
  /// The queue pair no longer takes requests.
  refused,
};

class QueuePairCore : public std::enable_shared_from_this<QueuePairCore> {
 public:
  /// `local` is its endpoint; the engine's data context outlives it.
  QueuePairCore(messages::QpInfo local, std::shared_ptr<const RegionTable> regions,
                const QueuePairConfig& config, CompletionChannel channel,
                std::shared_ptr<EngineState> engine);
  ~QueuePairCore();
  QueuePairCore(const QueuePairCore&) = delete;
  QueuePairCore& operator=(const QueuePairCore&) = delete;

  // -- for the caller: as in QueuePair --

  [[nodiscard]] const messages::QpInfo& local() const noexcept { return local_; }
  [[nodiscard]] QueuePairState state();
  std::expected<void, Error> initialize();
  std::expected<void, Error> connect(const messages::QpInfo& remote);
  [[nodiscard]] std::optional<messages::QpInfo> remote() const;
  [[nodiscard]] std::string_view path() const;
  /// Whether operations of `length` bytes are copied within the host.
  [[nodiscard]] bool copies(std::uint64_t length) const noexcept;
  [[nodiscard]] std::uint32_t free_slots() const;
  std::expected<void, Error> post(const WorkRequest& request);
  std::expected<void, Error> post_receive(std::uint64_t id);
  std::size_t poll(std::span<WorkCompletion> completions);
  void arm();
  [[nodiscard]] int fd() const noexcept { return channel_.fd(); }
  void begin_polling() noexcept;
  void end_polling() noexcept;
  [[nodiscard]] bool sleep(std::chrono::steady_clock::time_point deadline);
  void move_to_error() noexcept;
  /// Ends it for good: ERR, nothing runs for it afterwards. Before the data context goes.
  void close() noexcept;

  // -- for the responder --

  /// Binds an incoming connection to this queue pair if it is from whom this is connected to. One
  /// at a time; `hang_up` closes it, from any thread, without waiting.
  [[nodiscard]] Admission admit(std::uint32_t source, const messages::FixedBytes<16>& token,
                                std::function<void()> hang_up);

  /// Held while the responder touches memory for this queue pair, one system call at a time. Owns
  /// nothing when the queue pair no longer takes requests.
  [[nodiscard]] std::unique_lock<std::mutex> begin_turn();

  /// Completes the oldest receive with `immediate`, behind whose `length` bytes it came.
  [[nodiscard]] Delivery deliver(std::uint32_t immediate, std::uint64_t length);

  /// Calls `wake`, which must not wait, from any thread at the next receive. False: one is posted.
  [[nodiscard]] bool await_receive(std::function<void()> wake);

  [[nodiscard]] const RegionTable& regions() const noexcept { return *regions_; }

  /// The peer is gone, or its request was refused: this end dies with it.
  void peer_gone() noexcept;

 private:
  [[nodiscard]] bool takes_requests() const noexcept;
  [[nodiscard]] Error wrong_state(std::string_view what) const;
  [[nodiscard]] std::expected<void, Error> check_form(const WorkRequest& request) const;
  void progress();
  void settle();
  void watch_socket();
  void hand_over();
  void data_turn(void (BackgroundProgress::*what)() noexcept);
  void read_answers(std::unique_lock<std::mutex>& lock, std::size_t size);
  void lose_peer() noexcept;
  void enter_error() noexcept;

  const messages::QpInfo local_;
  const std::shared_ptr<const RegionTable> regions_;
  const PathPolicy paths_;

  mutable std::mutex mutex_;
  /// Written under `mutex_`; the responder looks at it under `turn_mutex_` alone.
  std::atomic<QueuePairState> state_{QueuePairState::reset};
  std::optional<messages::QpInfo> remote_;
  Requester requester_;
  ReceiveQueue receives_;
  CompletionChannel channel_;
  BackgroundProgress background_;
  unsigned pollers_ = 0;
  bool closed_ = false;
  /// The peer went while somebody was reading its last words.
  bool peer_gone_ = false;
  /// After `arm`, the next `poll` need not ask the socket: `fd` tells. Not so what is to be copied.
  bool just_armed_ = false;
  /// Somebody may sleep on `fd`, who has to hear of the socket too.
  bool notifying_ = false;
  /// Requester::dials at the socket that `channel_` knows.
  std::size_t known_dial_ = 0;
  std::function<void()> hang_up_;
  /// Who waits for a receive.
  std::function<void()> wake_on_receive_;

  std::mutex turn_mutex_;
};

}  // namespace danaus::transport::soft
