// Worker: a manager, its devices and its supervision in this process.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "danaus/batch.hpp"
#include "danaus/buffer.hpp"
#include "danaus/config.hpp"
#include "danaus/queue_pair.hpp"
#include "messages/actor_ref.hpp"
#include "messages/envelope.hpp"
#include "messages/message.hpp"
#include "messages/values.hpp"

namespace danaus {

/// Any thread, several at once. Destroying it drains for at most 2 s, closes its sockets and
/// releases everything; Buffers, QueuePairs and Batches must be gone before.
class Worker {
 public:
  /// Starts serving. Throws Error: InvalidArgument, PermissionDenied (a reachable bind without
  /// `insecure`), IoFailed (address in use), UnknownDevice, DeviceUnusable.
  explicit Worker(WorkerConfig config);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker();

  /// Who this worker is and where it is dialled.
  [[nodiscard]] const messages::ActorRef& ref() const noexcept;
  [[nodiscard]] const messages::Incarnation& incarnation() const noexcept;
  [[nodiscard]] std::vector<messages::DeviceInfo> devices() const;

  /// Registers memory of the caller's. With a name, others find it by LookupBuffer. Throws Error:
  /// InvalidArgument, RegistrationFailed.
  [[nodiscard]] Buffer register_buffer(std::span<std::byte> memory, std::string name = {},
                                       PeerAccess access = PeerAccess::read_write);
  /// The same with memory of its own, zeroed, mapped lazily.
  [[nodiscard]] Buffer allocate_buffer(std::uint64_t size, std::string name = {},
                                       PeerAccess access = PeerAccess::read_write);

  /// The connected queue pair for operations on `remote`, made if need be. Throws Error: StalePeer
  /// (its owner has restarted since), TransportMismatch, Unreachable, PeerLost, Timeout.
  [[nodiscard]] QueuePair queue_pair(const RemoteBuffer& remote, std::chrono::milliseconds timeout);
  /// The same by devices; "" leaves the choice to the device's owner.
  [[nodiscard]] QueuePair queue_pair(const messages::ActorRef& other, std::string self_device,
                                     std::string other_device, std::chrono::milliseconds timeout);

  /// One put or get, connecting first where there is no connection: see QueuePair.
  void put(const BufferSlice& local, const RemoteBuffer& remote, std::chrono::milliseconds timeout);
  void get(const BufferSlice& local, const RemoteBuffer& remote, std::chrono::milliseconds timeout);

  /// One atomic, connecting first where there is no connection; returns what was there before: see
  /// QueuePair.
  std::uint64_t fetch_add(const RemoteBuffer& remote, std::uint64_t offset, std::uint64_t value,
                          std::chrono::milliseconds timeout);
  std::uint64_t compare_swap(const RemoteBuffer& remote, std::uint64_t offset,
                             std::uint64_t expected, std::uint64_t desired,
                             std::chrono::milliseconds timeout);

  /// An empty list of puts, gets and atomics, to be carried out as a whole.
  [[nodiscard]] Batch batch();

  /// Sends `message` to any manager, this one included, and waits for its reply; see Client.
  [[nodiscard]] messages::ReplyBody request(const messages::ActorRef& to,
                                            const messages::Message& message,
                                            std::chrono::milliseconds timeout);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace danaus
