// The interfaces of a transport: Device opens a Domain, a Domain registers memory and creates queue
// pairs. Cut by what verbs needs; the software device bends to it. Nobody outside a transport's own
// folder includes its other headers.
//
// Threads: calls marked "may block" belong on `device-work`; all others return without waiting for
// anything but a short lock.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "messages/error.hpp"
#include "messages/values.hpp"
#include "transport/spin_credit.hpp"
#include "transport/types.hpp"

namespace danaus::transport {

/// A registered range of memory. Destroying it deregisters (may block as `deregister` does).
class MemoryRegion {
 public:
  MemoryRegion() = default;
  MemoryRegion(const MemoryRegion&) = delete;
  MemoryRegion& operator=(const MemoryRegion&) = delete;
  virtual ~MemoryRegion() = default;

  /// The virtual address that was registered.
  [[nodiscard]] virtual std::uint64_t address() const noexcept = 0;
  /// The address that peers use together with `rkey`.
  [[nodiscard]] virtual std::uint64_t remote_address() const noexcept = 0;
  /// In bytes.
  [[nodiscard]] virtual std::uint64_t size() const noexcept = 0;
  [[nodiscard]] virtual std::uint64_t lkey() const noexcept = 0;
  [[nodiscard]] virtual std::uint64_t rkey() const noexcept = 0;

  /// From now on every new use, local or remote, is refused. Any thread, never blocks.
  virtual void revoke() noexcept = 0;

  /// Revokes and waits until nothing uses the memory any more: bounded by one system call of at
  /// most 1 MiB, never by a peer. May block. Idempotent.
  virtual std::expected<void, Error> deregister() = 0;
};

struct QueuePairConfig {
  /// Work requests that may be outstanding at once.
  std::uint32_t max_send_wr = 512;
  /// Receives that may be posted at once.
  std::uint32_t max_recv_wr = 512;
};

/// A reliable-connected queue pair with its own completion queue and completion channel.
/// All members may be called from any thread.
class QueuePair {
 public:
  QueuePair() = default;
  QueuePair(const QueuePair&) = delete;
  QueuePair& operator=(const QueuePair&) = delete;
  /// Safe with work outstanding: nothing touches registered memory on its behalf afterwards.
  virtual ~QueuePair() = default;

  [[nodiscard]] virtual std::uint32_t number() const noexcept = 0;

  /// What a peer needs to connect to this queue pair. Errors: IoFailed.
  [[nodiscard]] virtual std::expected<messages::QpInfo, Error> endpoint() const = 0;

  /// A live query.
  [[nodiscard]] virtual QueuePairState state() const = 0;

  /// RESET → INIT. May block. Errors: InvalidQueuePairState.
  virtual std::expected<void, Error> initialize() = 0;

  /// RESET or INIT → RTR → RTS, towards `remote`. May block. In RTR and RTS with the same endpoint:
  /// nothing to do. Errors: ConnectConflict (connected to another endpoint), InvalidQueuePairState
  /// (in ERR), TransportMismatch (`remote` is of another transport), InvalidArgument.
  virtual std::expected<void, Error> connect(const messages::QpInfo& remote) = 0;

  /// The endpoint that it is connected to; nothing before `connect`.
  [[nodiscard]] virtual std::optional<messages::QpInfo> remote_endpoint() const = 0;

  /// How bytes go now, for people: "tcp".
  [[nodiscard]] virtual std::string_view path() const noexcept = 0;

  /// Free slots of the send queue: so many more work requests can be posted.
  [[nodiscard]] virtual std::uint32_t free_slots() const noexcept = 0;

  /// Hands a work request to the device; never waits. In ERR it completes as flushed. Errors: Busy
  /// (no free slot), InvalidQueuePairState (before RTS), InvalidArgument (too long, or an atomic of
  /// a wrong length or at a remote address that is not aligned).
  virtual std::expected<void, Error> post(const WorkRequest& request) = 0;

  /// Posts a receive without memory: it completes, with opcode receive_with_immediate, when a write
  /// with immediate of the peer's has arrived, whose bytes are there by then; one that arrives
  /// before it waits for it. In ERR it completes as flushed. Errors: Busy (`max_recv_wr` are
  /// posted, or completed and not polled yet), InvalidQueuePairState (in RESET).
  virtual std::expected<void, Error> post_receive(std::uint64_t id) = 0;

  /// Takes completions, oldest first, and drives progress while at it (at most about 1 MiB of
  /// payload a call, so a caller can look at its deadline). Returns how many were written.
  virtual std::size_t poll(std::span<WorkCompletion> completions) = 0;

  /// Asks that `fd` become readable at the next completion or possible progress. As with
  /// ibv_req_notify_cq(3): poll once more after arming, before sleeping.
  virtual void arm() = 0;

  /// Readable when armed and `poll` has something to do. Sleep on it with poll(2) or epoll(7);
  /// never read it.
  [[nodiscard]] virtual int fd() const noexcept = 0;

  /// Tells the queue pair that a thread of the caller's is about to poll until its work is done, so
  /// that no thread of the transport needs to drive progress meanwhile. Counted; balanced by
  /// `end_polling`.
  /// `fd` tells of no progress from then on, until it is armed again.
  virtual void begin_polling() noexcept = 0;
  virtual void end_polling() noexcept = 0;

  /// For the thread that polls: for how long at most it is worth polling for an operation of
  /// `length` bytes before sleeping, should CPUs be free. 0: not at all.
  [[nodiscard]] virtual std::chrono::microseconds worth_polling_for(
      std::uint64_t length) const noexcept {
    return length <= spin_length_limit ? spin_limit : std::chrono::microseconds{0};
  }

  /// For the thread that polls: sleeps until `poll` may have something to do, a signal comes, or
  /// `deadline`. False: the deadline has passed. One thread at a time; needs no arming.
  [[nodiscard]] virtual bool sleep(std::chrono::steady_clock::time_point deadline) = 0;

  /// Any state → ERR. Every outstanding work request completes: the first with its own status if it
  /// has one already, the rest as flushed. When it returns, this side no longer touches their
  /// memory once their completions have been polled. Never blocks.
  virtual void move_to_error() noexcept = 0;
};

/// A device context with its protection domain: keys of one domain mean nothing in another.
class Domain {
 public:
  Domain() = default;
  Domain(const Domain&) = delete;
  Domain& operator=(const Domain&) = delete;
  virtual ~Domain() = default;

  /// Registers `size` bytes at `address`. May block. Errors: InvalidArgument (zero size, overflow),
  /// RegistrationFailed (unmapped, limits).
  virtual std::expected<std::unique_ptr<MemoryRegion>, Error> register_memory(
      std::uint64_t address, std::uint64_t size, AccessFlags access) = 0;

  /// Creates a queue pair in RESET. May block. Errors: ResourceExhausted, IoFailed.
  virtual std::expected<std::unique_ptr<QueuePair>, Error> create_queue_pair(
      const QueuePairConfig& config) = 0;
};

/// A device of one transport, opened lazily.
class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  /// Name, transport, port, and whether it is usable or why not.
  [[nodiscard]] virtual messages::DeviceInfo info() const = 0;

  /// Opens the device and allocates a protection domain. May block. Errors: DeviceUnusable.
  virtual std::expected<std::unique_ptr<Domain>, Error> open() = 0;
};

}  // namespace danaus::transport
