// WorkerCore: everything that a Worker is made of, in the order in which it is built, started,
// ended and taken apart. Shared by the Worker and the calls that are under way in it. Any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <asio/awaitable.hpp>
#include <asio/io_context.hpp>

#include "danaus/config.hpp"
#include "mailbox/mailbox.hpp"
#include "manager/manager.hpp"
#include "supervision/supervisor.hpp"
#include "transport/soft/soft_engine.hpp"
#include "worker/batch_run.hpp"
#include "worker/blocking_calls.hpp"
#include "worker/call_gate.hpp"
#include "worker/connection_cache.hpp"
#include "worker/device_choice.hpp"
#include "worker/local_buffer.hpp"
#include "worker/operation.hpp"
#include "worker/worker_threads.hpp"

namespace danaus::worker {

class WorkerCore {
 public:
  /// Builds and starts everything. What was begun is undone when it throws Error: see Worker.
  explicit WorkerCore(WorkerConfig config);
  WorkerCore(const WorkerCore&) = delete;
  WorkerCore& operator=(const WorkerCore&) = delete;
  ~WorkerCore();

  /// Drains, ends all threads, closes and releases everything. Once, before the destructor. False
  /// when the mailbox thread is stuck: then nothing was taken apart and the object must never be
  /// destroyed.
  [[nodiscard]] bool stop();

  [[nodiscard]] const messages::ActorRef& ref() const noexcept { return mailbox_->self(); }
  [[nodiscard]] const messages::Incarnation& incarnation() const noexcept {
    return mailbox_->incarnation();
  }

  // -- calls; each throws ShuttingDown once the worker ends or has failed -------------------------

  [[nodiscard]] std::vector<messages::DeviceInfo> devices();

  [[nodiscard]] manager::Registration register_buffer(std::span<std::byte> memory, std::string name,
                                                      PeerAccess access);
  [[nodiscard]] std::expected<void, Error> release_buffer(std::uint64_t mr_id);

  /// Whether registrations may still be in use: not any more once everything is down.
  [[nodiscard]] bool is_down() const noexcept { return down_; }

  [[nodiscard]] manager::QueuePairHandle queue_pair(
      const messages::ActorRef& other, const std::optional<messages::Incarnation>& incarnation,
      std::string self_device, std::string other_device, Clock::time_point deadline);

  /// One put or get over the connection in the cache, or one that is made first.
  void carry_out(transport::Opcode opcode, std::span<const std::byte> memory,
                 const BufferKeys& keys, const messages::RdmaBuffer& remote,
                 std::chrono::milliseconds timeout);

  /// One atomic in the same way; what was there before.
  [[nodiscard]] std::uint64_t carry_out(const AtomicRequest& request,
                                        const messages::RdmaBuffer& remote,
                                        std::chrono::milliseconds timeout);

  /// All of a batch; one outcome for each operation.
  [[nodiscard]] BatchOutcomes carry_out(const BatchPlan& plan, std::chrono::milliseconds timeout);

  [[nodiscard]] messages::ReplyBody request(const messages::ActorRef& to,
                                            const messages::Message& message,
                                            Clock::time_point deadline);

  /// Our devices that operations may use, the preferred one first.
  [[nodiscard]] const std::vector<LocalDevice>& local_devices() const noexcept {
    return local_devices_;
  }

 private:
  void build();
  void start();

  [[nodiscard]] supervision::SupervisorConfig supervisor_config();
  [[nodiscard]] bool is_self(const messages::ActorRef& to) const;
  asio::awaitable<messages::ReplyBody> ask_self(messages::Message message,
                                                Clock::time_point deadline);
  asio::awaitable<messages::ReplyBody> ask_peer(messages::ActorRef to, messages::Message message,
                                                Clock::time_point deadline);
  void release_unclaimed(std::expected<manager::Registration, Error> registration);

  asio::awaitable<std::expected<std::vector<messages::DeviceInfo>, Error>> list_devices();
  [[nodiscard]] std::shared_ptr<transport::OperationQueue> connection_for(
      const DevicePair& pair, const messages::RdmaBuffer& remote, Clock::time_point deadline);
  [[nodiscard]] std::shared_ptr<transport::OperationQueue> connect(const ConnectionKey& key,
                                                                   const messages::ActorRef& other,
                                                                   Clock::time_point deadline);

  void end_calls();
  asio::awaitable<std::expected<void, Error>> drain();
  [[nodiscard]] bool drain_and_wait();
  [[nodiscard]] bool drain_here();
  void finish_device_work();
  void take_apart();

  const WorkerConfig config_;
  CallGate gate_;
  BlockingCalls calls_;
  BlockingCalls shutdown_call_;
  ConnectionCache connections_;
  std::vector<LocalDevice> local_devices_;

  // In this order: the supervisor hears of failures until the last thread has ended; the contexts
  // and the engine outlive what the manager and the mailbox's coroutines hold of them.
  std::unique_ptr<supervision::Supervisor> supervisor_;
  std::unique_ptr<asio::io_context> device_work_ = std::make_unique<asio::io_context>();
  std::unique_ptr<asio::io_context> data_ = std::make_unique<asio::io_context>();
  std::unique_ptr<transport::soft::SoftEngine> engine_;
  std::unique_ptr<mailbox::Mailbox> mailbox_;
  std::unique_ptr<manager::Manager> manager_;
  std::unique_ptr<WorkerThreads> threads_;
  std::atomic<bool> down_{false};
};

}  // namespace danaus::worker
