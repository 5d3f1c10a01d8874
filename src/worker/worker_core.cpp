#include "worker/worker_core.hpp"

#include <spdlog/fmt/fmt.h>

#include <utility>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>

#include "messages/bytes.hpp"
#include "transport/types.hpp"
#include "worker/config_check.hpp"
#include "worker/endpoint_plan.hpp"

namespace danaus::worker {

namespace {

/// Registering pins memory on some devices: seconds for hundreds of GB.
constexpr std::chrono::milliseconds registration_patience{60'000};
/// Revoking waits for system calls of at most 1 MiB each.
constexpr std::chrono::milliseconds release_patience{30'000};
constexpr std::chrono::milliseconds list_patience{5'000};

std::vector<messages::DeviceInfo> describe(
    const std::vector<std::unique_ptr<transport::Device>>& devices) {
  std::vector<messages::DeviceInfo> infos;
  infos.reserve(devices.size());
  for (const auto& device : devices) {
    infos.push_back(device->info());
  }
  return infos;
}

/// The owner itself may use the memory as the source and the destination of its operations.
transport::AccessFlags flags_of(PeerAccess access) {
  using transport::AccessFlags;
  return access == PeerAccess::read_only ? AccessFlags::local_write | AccessFlags::remote_read
                                         : transport::full_access;
}

transport::soft::PathPolicy paths_of(SoftPath path) noexcept {
  using transport::soft::PathPolicy;
  switch (path) {
    case SoftPath::automatic:
      return PathPolicy::automatic;
    case SoftPath::tcp:
      return PathPolicy::tcp;
    case SoftPath::copy:
      return PathPolicy::copy;
  }
  return PathPolicy::automatic;
}

/// The value, or the error thrown.
template <class Value>
Value value_or_throw(std::expected<Value, Error> result) {
  if (!result) {
    throw Error{std::move(result).error()};
  }
  return *std::move(result);
}

}  // namespace

WorkerCore::WorkerCore(WorkerConfig config) : config_{std::move(config)} {
  try {
    build();
    start();
  } catch (...) {
    take_apart();
    throw;
  }
}

WorkerCore::~WorkerCore() {
  take_apart();
}

void WorkerCore::build() {
  check_config(config_);
  const EndpointPlan plan = plan_endpoints(config_);
  supervisor_ = std::make_unique<supervision::Supervisor>(supervisor_config());
  engine_ = std::make_unique<transport::soft::SoftEngine>(
      transport::soft::SoftEngineConfig{.listen_address = plan.data_listen,
                                        .listen_port = config_.data_port,
                                        .advertised_address = plan.data_advertise,
                                        .paths = paths_of(config_.soft_path),
                                        .devices = config_.soft_devices},
      *data_);
  auto devices = engine_->devices();
  const auto infos = describe(devices);
  check_device_choice(config_, infos);
  local_devices_ = in_order_of_preference(infos, config_.device);
  mailbox_ = std::make_unique<mailbox::Mailbox>(
      mailbox::MailboxConfig{.identity = config_.identity,
                             .incarnation = messages::random_bytes<16>(),
                             .bind = plan.bind,
                             .advertise = plan.advertise,
                             .limits = {}},
      *supervisor_);
  manager_ = std::make_unique<manager::Manager>(
      manager::ManagerConfig{.device = config_.device,
                             .register_policy = config_.register_policy,
                             .require_rdma = config_.require_rdma},
      *mailbox_, *device_work_, *data_, std::move(devices),
      [engine = engine_.get()] { return engine->counters(); });
}

void WorkerCore::start() {
  mailbox_->serve(
      [this](mailbox::Request request) { return manager_->handle(std::move(request)); });
  threads_ = std::make_unique<WorkerThreads>(*supervisor_);
  const auto responders = engine_->responder_contexts();
  threads_->start(mailbox_->context(), *data_, *device_work_, responders);
}

supervision::SupervisorConfig WorkerCore::supervisor_config() {
  supervision::SupervisorConfig config{
      .identity = config_.identity, .watchdog_timeout = config_.watchdog_timeout, .on_failure = {}};
  if (config_.on_failure) {
    config.on_failure = [this](const Failure& failure) {
      const Error reason{ErrorCode::shutting_down,
                         fmt::format("the worker {} has failed: {}: {}; make a new one",
                                     config_.identity, failure.component, failure.reason)};
      gate_.close(reason);
      calls_.end_all(reason);
      config_.on_failure(failure);
    };
  }
  return config;
}

// -- calls
// -----------------------------------------------------------------------------------------

std::vector<messages::DeviceInfo> WorkerCore::devices() {
  const auto pass = gate_.enter();
  return value_or_throw(calls_.run(mailbox_->context(), list_devices(),
                                   deadline_after(list_patience), "listing the devices"));
}

asio::awaitable<std::expected<std::vector<messages::DeviceInfo>, Error>>
WorkerCore::list_devices() {
  co_return manager_->devices();
}

manager::Registration WorkerCore::register_buffer(std::span<std::byte> memory, std::string name,
                                                  PeerAccess access) {
  using Result = std::expected<manager::Registration, Error>;
  const auto pass = gate_.enter();
  auto registration = manager_->register_buffer(reinterpret_cast<std::uintptr_t>(memory.data()),
                                                memory.size(), std::move(name), flags_of(access));
  return value_or_throw(calls_.run<Result>(
      mailbox_->context(), std::move(registration), deadline_after(registration_patience),
      "registering a buffer", [this](Result result) { release_unclaimed(std::move(result)); }));
}

void WorkerCore::release_unclaimed(std::expected<manager::Registration, Error> registration) {
  if (registration) {
    asio::co_spawn(mailbox_->context(), manager_->release_buffer(registration->buffer.mr_id),
                   asio::detached);
  }
}

std::expected<void, Error> WorkerCore::release_buffer(std::uint64_t mr_id) {
  try {
    const auto pass = gate_.enter();
    return calls_.run(mailbox_->context(), manager_->release_buffer(mr_id),
                      deadline_after(release_patience), "releasing a buffer");
  } catch (const Error& error) {
    return std::unexpected{error};
  }
}

manager::QueuePairHandle WorkerCore::queue_pair(
    const messages::ActorRef& other, const std::optional<messages::Incarnation>& incarnation,
    std::string self_device, std::string other_device, Clock::time_point deadline) {
  const auto pass = gate_.enter();
  if (const auto checked = messages::check_actor_ref(other); !checked) {
    throw Error{checked.error()};
  }
  auto connecting = manager_->queue_pair(other, incarnation, std::move(self_device),
                                         std::move(other_device), deadline);
  return value_or_throw(calls_.run(mailbox_->context(), std::move(connecting), deadline,
                                   "connecting to " + messages::to_string(other)));
}

void WorkerCore::carry_out(transport::Opcode opcode, std::span<const std::byte> memory,
                           const BufferKeys& keys, const messages::RdmaBuffer& remote,
                           std::chrono::milliseconds timeout) {
  const auto deadline = deadline_after(timeout);
  const auto pass = gate_.enter();
  if (keys.incarnation != incarnation()) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("the local buffer was registered by another worker than {}; use that "
                            "one, or register it here",
                            config_.identity)};
  }
  const auto pair = value_or_throw(choose_device_pair(keys.devices, remote));
  const auto operation = value_or_throw(
      make_operation(opcode, memory, keys, pair.self_device, remote, pair.remote.device));
  const auto connection = connection_for(pair, remote, deadline);
  if (const auto outcome = connection->run(operation, deadline); !outcome) {
    throw Error{outcome.error()};
  }
}

std::uint64_t WorkerCore::carry_out(const AtomicRequest& request,
                                    const messages::RdmaBuffer& remote,
                                    std::chrono::milliseconds timeout) {
  const auto deadline = deadline_after(timeout);
  const auto pass = gate_.enter();
  const auto pair = value_or_throw(choose_device_pair(local_devices_, remote));
  const auto operation = value_or_throw(make_atomic(request, remote, pair.remote.device));
  const auto connection = connection_for(pair, remote, deadline);
  const auto result = connection->run_for_result(operation, deadline);
  if (!result.outcome) {
    throw Error{result.outcome.error()};
  }
  return result.value;
}

std::shared_ptr<transport::OperationQueue> WorkerCore::connection_for(
    const DevicePair& pair, const messages::RdmaBuffer& remote, Clock::time_point deadline) {
  const ConnectionKey key{remote.owner.id, remote.incarnation, pair.self_device,
                          pair.remote.device};
  auto connection = connections_.find(key);
  return connection ? std::move(connection) : connect(key, remote.owner, deadline);
}

std::shared_ptr<transport::OperationQueue> WorkerCore::connect(const ConnectionKey& key,
                                                               const messages::ActorRef& other,
                                                               Clock::time_point deadline) {
  auto handle = queue_pair(other, key.incarnation, std::string{key.self_device},
                           std::string{key.other_device}, deadline);
  connections_.insert(key, handle.operations);
  return std::move(handle.operations);
}

BatchOutcomes WorkerCore::carry_out(const BatchPlan& plan, std::chrono::milliseconds timeout) {
  const auto deadline = deadline_after(timeout);
  const auto pass = gate_.enter();
  BatchRun batch{plan, {connections_, calls_, mailbox_->context(), *manager_}, deadline};
  return batch.run();
}

messages::ReplyBody WorkerCore::request(const messages::ActorRef& to,
                                        const messages::Message& message,
                                        Clock::time_point deadline) {
  try {
    const auto pass = gate_.enter();
    auto asking = is_self(to) ? ask_self(message, deadline) : ask_peer(to, message, deadline);
    return calls_.run(
        mailbox_->context(), std::move(asking), deadline,
        fmt::format("{} to {}", messages::message_name(message), messages::to_string(to)));
  } catch (const Error& error) {
    return std::unexpected{error};
  }
}

bool WorkerCore::is_self(const messages::ActorRef& to) const {
  return to.id == ref().id && (to.at.empty() || to.at == ref().at);
}

// Without the detour over a socket of our own, which a passive worker lacks.
asio::awaitable<messages::ReplyBody> WorkerCore::ask_self(messages::Message message,
                                                          Clock::time_point deadline) {
  mailbox::Request request{.from = {ref().id, ref().at, incarnation()},
                           .message = std::move(message),
                           .wants_reply = true,
                           .deadline = deadline};
  auto handling = manager_->handle(std::move(request));
  co_return co_await std::move(handling);
}

asio::awaitable<messages::ReplyBody> WorkerCore::ask_peer(messages::ActorRef to,
                                                          messages::Message message,
                                                          Clock::time_point deadline) {
  auto asking = mailbox_->request(std::move(to), std::nullopt, std::move(message), deadline);
  auto reply = co_await std::move(asking);
  co_return std::move(reply.body);
}

}  // namespace danaus::worker
