// Worker of the public API: each call passes to the core.
#include "danaus/worker.hpp"

#include <spdlog/spdlog.h>

#include <mutex>
#include <utility>

#include "worker/batch_state.hpp"
#include "worker/local_buffer.hpp"
#include "worker/queue_pair_state.hpp"
#include "worker/worker_core.hpp"

namespace danaus {

using transport::Opcode;
using worker::deadline_after;

namespace {

/// Keeps for ever what threads that cannot be joined still use.
void leave_behind(std::shared_ptr<worker::WorkerCore> core) {
  static std::mutex mutex;
  static auto* const left = new std::vector<std::shared_ptr<worker::WorkerCore>>;
  const std::lock_guard lock{mutex};
  left->push_back(std::move(core));
}

}  // namespace

class Worker::Impl {
 public:
  explicit Impl(WorkerConfig config)
      : core_{std::make_shared<worker::WorkerCore>(std::move(config))} {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  ~Impl() {
    if (!core_->stop()) {
      spdlog::critical(
          "the mailbox thread of {} is stuck or gone: what the worker holds stays until the "
          "process "
          "ends",
          core_->ref().id);
      leave_behind(core_);
    }
  }

  /// A share of its own for each call, which may be leaving while the worker is destroyed.
  [[nodiscard]] std::shared_ptr<worker::WorkerCore> core() const { return core_; }
  [[nodiscard]] const worker::WorkerCore& peek() const { return *core_; }

  [[nodiscard]] std::unique_ptr<Buffer::State> register_memory(
      std::span<std::byte> memory, std::string name, PeerAccess access,
      std::unique_ptr<worker::Mapping> mapping) const {
    auto registration = core_->register_buffer(memory, std::move(name), access);
    auto keys = std::make_shared<worker::BufferKeys>();
    keys->incarnation = core_->incarnation();
    keys->lkeys.insert(registration.lkeys.begin(), registration.lkeys.end());
    for (const auto& device : core_->local_devices()) {
      if (keys->lkeys.contains(device.name)) {
        keys->devices.push_back(device);
      }
    }
    return std::make_unique<Buffer::State>(Buffer::State{.core = core_,
                                                         .handle = std::move(registration.buffer),
                                                         .keys = std::move(keys),
                                                         .memory = memory,
                                                         .mapping = std::move(mapping)});
  }

 private:
  std::shared_ptr<worker::WorkerCore> core_;
};

Worker::Worker(WorkerConfig config) : impl_{std::make_unique<Impl>(std::move(config))} {}

Worker::~Worker() = default;

const messages::ActorRef& Worker::ref() const noexcept {
  return impl_->peek().ref();
}

const messages::Incarnation& Worker::incarnation() const noexcept {
  return impl_->peek().incarnation();
}

std::vector<messages::DeviceInfo> Worker::devices() const {
  return impl_->core()->devices();
}

Buffer Worker::register_buffer(std::span<std::byte> memory, std::string name, PeerAccess access) {
  return Buffer{impl_->register_memory(memory, std::move(name), access, nullptr)};
}

Buffer Worker::allocate_buffer(std::uint64_t size, std::string name, PeerAccess access) {
  auto mapping = std::make_unique<worker::Mapping>(size);
  const auto memory = mapping->memory();
  return Buffer{impl_->register_memory(memory, std::move(name), access, std::move(mapping))};
}

QueuePair Worker::queue_pair(const RemoteBuffer& remote, std::chrono::milliseconds timeout) {
  const auto core = impl_->core();
  const messages::RdmaBuffer& buffer = remote.wire();
  const auto pair = worker::choose_device_pair(core->local_devices(), buffer);
  if (!pair) {
    throw Error{pair.error()};
  }
  auto handle = core->queue_pair(buffer.owner, buffer.incarnation, std::string{pair->self_device},
                                 std::string{pair->remote.device}, deadline_after(timeout));
  return QueuePair{std::make_unique<QueuePair::State>(
      std::move(handle.operations), std::move(handle.descriptor), core->incarnation())};
}

QueuePair Worker::queue_pair(const messages::ActorRef& other, std::string self_device,
                             std::string other_device, std::chrono::milliseconds timeout) {
  const auto core = impl_->core();
  auto handle = core->queue_pair(other, std::nullopt, std::move(self_device),
                                 std::move(other_device), deadline_after(timeout));
  return QueuePair{std::make_unique<QueuePair::State>(
      std::move(handle.operations), std::move(handle.descriptor), core->incarnation())};
}

void Worker::put(const BufferSlice& local, const RemoteBuffer& remote,
                 std::chrono::milliseconds timeout) {
  impl_->core()->carry_out(Opcode::rdma_write, local.memory_, *local.keys_, remote.wire(), timeout);
}

void Worker::get(const BufferSlice& local, const RemoteBuffer& remote,
                 std::chrono::milliseconds timeout) {
  impl_->core()->carry_out(Opcode::rdma_read, local.memory_, *local.keys_, remote.wire(), timeout);
}

std::uint64_t Worker::fetch_add(const RemoteBuffer& remote, std::uint64_t offset,
                                std::uint64_t value, std::chrono::milliseconds timeout) {
  return impl_->core()->carry_out(worker::fetch_add_request(offset, value), remote.wire(), timeout);
}

std::uint64_t Worker::compare_swap(const RemoteBuffer& remote, std::uint64_t offset,
                                   std::uint64_t expected, std::uint64_t desired,
                                   std::chrono::milliseconds timeout) {
  return impl_->core()->carry_out(worker::compare_swap_request(offset, expected, desired),
                                  remote.wire(), timeout);
}

Batch Worker::batch() {
  const auto core = impl_->core();
  return Batch{std::make_unique<Batch::State>(
      core, worker::BatchPlan{core->incarnation(), core->local_devices()})};
}

messages::ReplyBody Worker::request(const messages::ActorRef& to, const messages::Message& message,
                                    std::chrono::milliseconds timeout) {
  return impl_->core()->request(to, message, deadline_after(timeout));
}

}  // namespace danaus
