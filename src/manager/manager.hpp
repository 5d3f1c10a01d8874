// Manager: the actor. Owns the devices' domains, the memory registrations and the queue pairs of
// one worker and answers every message of ManagerMessage and ServiceMessage. Everything here runs
// on the `mailbox` thread; device calls that may block are awaited on `device-work`, Transfers run
// on `data`.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <asio/awaitable.hpp>
#include <asio/io_context.hpp>

#include "danaus/config.hpp"
#include "mailbox/mailbox.hpp"
#include "messages/message.hpp"
#include "transport/operation_queue.hpp"
#include "transport/transport.hpp"

namespace danaus::manager {

class PeerLink;

struct ManagerConfig {
  /// The device that "" stands for: a name, "auto" or "soft".
  std::string device = "auto";
  RegisterPolicy register_policy = RegisterPolicy::offered;
  /// Whether software registrations are left out of buffers and transfers.
  bool require_rdma = false;
  /// Bound on one connect attempt.
  std::chrono::milliseconds connect_timeout{10'000};
  /// How long a caller waits for the PeerReady of a peer that connected to us before it asks
  /// itself.
  std::chrono::milliseconds ready_patience{1'000};
  /// Transfers that run at once; one more is Busy.
  std::size_t max_transfers = 64;
};

/// A buffer that this process registered: its handle for peers, and its key on each device.
struct Registration {
  messages::RdmaBuffer buffer;
  /// lkey by device name.
  std::map<std::string, std::uint64_t> lkeys;
};

/// A queue pair in the hands of a caller in this process. Shared with the manager's table and with
/// other callers of the same pair: it lives until the last of them lets go.
struct QueuePairHandle {
  std::shared_ptr<transport::OperationQueue> operations;
  messages::QueuePairDescriptor descriptor;
};

class Manager {
 public:
  /// `mailbox`, `device_work` and `data` outlive the manager. `counters` adds further components'
  /// counters to GetStats. Does not open any device. Throws Error where the configured device
  /// cannot be had: UnknownDevice, DeviceUnusable.
  Manager(ManagerConfig config, mailbox::Mailbox& mailbox, asio::io_context& device_work,
          asio::io_context& data, std::vector<std::unique_ptr<transport::Device>> devices,
          std::function<std::map<std::string, std::uint64_t>()> counters = {});
  /// The same over any link to peers.
  Manager(ManagerConfig config, std::unique_ptr<PeerLink> link, asio::io_context& device_work,
          asio::io_context& data, std::vector<std::unique_ptr<transport::Device>> devices,
          std::function<std::map<std::string, std::uint64_t>()> counters = {});
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;
  ~Manager();

  /// The mailbox's handler.
  asio::awaitable<messages::ReplyBody> handle(mailbox::Request request);

  /// Registers memory of this process; with a name, offers it to others (ListBuffers). Errors:
  /// InvalidArgument, RegistrationFailed, DeviceUnusable.
  asio::awaitable<std::expected<Registration, Error>> register_buffer(
      std::uint64_t address, std::uint64_t size, std::string name, transport::AccessFlags access);

  /// Revokes, waits until unused, deregisters. Errors: NotFound.
  asio::awaitable<std::expected<void, Error>> release_buffer(std::uint64_t mr_id);

  /// The connected queue pair to `other`, made if need be; N callers make one. With an incarnation,
  /// to that life of the peer alone (StalePeer). "" for a device is the owner's choice.
  asio::awaitable<std::expected<QueuePairHandle, Error>> queue_pair(
      messages::ActorRef other, std::optional<messages::Incarnation> incarnation,
      std::string self_device, std::string other_device, mailbox::Clock::time_point deadline);

  /// Destroys this end of the pair and tells the peer to destroy its own.
  asio::awaitable<std::expected<void, Error>> close_peer(messages::ActorRef other,
                                                         std::string self_device,
                                                         std::string other_device,
                                                         mailbox::Clock::time_point deadline);

  [[nodiscard]] std::vector<messages::DeviceInfo> devices() const;

  /// Ends transfers, destroys queue pairs, then memory regions, then domains. After the mailbox has
  /// shut down.
  asio::awaitable<void> tear_down();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace danaus::manager
