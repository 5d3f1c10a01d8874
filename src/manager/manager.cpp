#include "manager/manager.hpp"

#include <spdlog/fmt/fmt.h>

#include <system_error>
#include <utility>
#include <variant>

#include "manager/core.hpp"

namespace danaus::manager {
namespace {

Error shutting_down(const Core& core) {
  return {ErrorCode::shutting_down,
          fmt::format("{} is shutting down; ask again when it is back", core.link->self().id)};
}

/// What an exception means to whoever asked. Nothing a request does may end the manager.
Error describe_exception(std::string_view what, const std::exception& failure) {
  if (const auto* const error = dynamic_cast<const Error*>(&failure)) {
    return *error;
  }
  return {ErrorCode::internal, fmt::format("{} failed inside the manager: {}; this is a fault of "
                                           "Danaus, please report it",
                                           what, failure.what())};
}

template <class M>
asio::awaitable<messages::ReplyBody> answer(std::shared_ptr<Core> core, Envelope envelope,
                                            M message) {
  const auto ticket = core->activity.begin();
  if (core->shutting_down) {
    co_return std::unexpected{shutting_down(*core)};
  }
  try {
    auto reply = co_await core->handle(std::move(envelope), std::move(message));
    if (!reply) {
      co_return std::unexpected{std::move(reply).error()};
    }
    co_return messages::encode<typename M::Reply>(*reply);
  } catch (const std::exception& failure) {
    co_return std::unexpected{describe_exception(M::name, failure)};
  }
}

}  // namespace

// The Core is shared with the coroutines that run in it: one that outlives the Manager, suspended
// in a context that nobody runs any more, still has what it refers to.
class Manager::Impl {
 public:
  explicit Impl(std::shared_ptr<Core> shared) : core{std::move(shared)} {
    core->activity.belongs_to(core);
  }
  std::shared_ptr<Core> core;
};

Manager::Manager(ManagerConfig config, std::unique_ptr<PeerLink> link,
                 asio::io_context& device_work, asio::io_context& data,
                 std::vector<std::unique_ptr<transport::Device>> devices,
                 std::function<std::map<std::string, std::uint64_t>()> counters)
    : impl_{std::make_unique<Impl>(std::make_shared<Core>(std::move(config), std::move(link),
                                                          device_work, data, std::move(devices),
                                                          std::move(counters)))} {}

Manager::~Manager() = default;

asio::awaitable<messages::ReplyBody> Manager::handle(mailbox::Request request) {
  const std::shared_ptr<Core>& core = impl_->core;
  Envelope envelope{std::move(request.from), request.deadline};
  return std::visit(
      [&](auto& either) {
        return std::visit(
            [&](auto& message) { return answer(core, std::move(envelope), std::move(message)); },
            either);
      },
      request.message);
}

namespace {

// A ticket is taken where the coroutine runs, on `mailbox`: its caller may make it on any thread.
asio::awaitable<std::expected<Registration, Error>> register_in(std::shared_ptr<Core> core,
                                                                std::uint64_t address,
                                                                std::uint64_t size,
                                                                BufferTerms terms) {
  const auto ticket = core->activity.begin();
  if (core->shutting_down) {
    co_return std::unexpected{shutting_down(*core)};
  }
  co_return co_await core->buffers.add(address, size, std::move(terms));
}

asio::awaitable<std::expected<void, Error>> release_in(std::shared_ptr<Core> core,
                                                       std::uint64_t mr_id) {
  const auto ticket = core->activity.begin();
  co_return co_await core->buffers.remove(mr_id);
}

asio::awaitable<std::expected<QueuePairHandle, Error>> queue_pair_in(
    std::shared_ptr<Core> core, messages::ActorRef other,
    std::optional<messages::Incarnation> incarnation, std::string self_device,
    std::string other_device, mailbox::Clock::time_point deadline) {
  const auto ticket = core->activity.begin();
  if (core->shutting_down) {
    co_return std::unexpected{shutting_down(*core)};
  }
  co_return co_await core->queue_pairs.request(
      std::move(other), incarnation, std::move(self_device), std::move(other_device), deadline);
}

asio::awaitable<std::expected<void, Error>> close_in(std::shared_ptr<Core> core,
                                                     messages::ActorRef other,
                                                     std::string self_device,
                                                     std::string other_device,
                                                     mailbox::Clock::time_point deadline) {
  const auto ticket = core->activity.begin();
  const auto closed =
      co_await core->stepwise.close(core->link->self().id, std::move(other), std::move(self_device),
                                    std::move(other_device), deadline);
  if (!closed) {
    co_return std::unexpected{closed.error()};
  }
  co_return std::expected<void, Error>{};
}

asio::awaitable<void> tear_down_all(std::shared_ptr<Core> core) {
  co_await core->tear_down();
}

}  // namespace

asio::awaitable<std::expected<Registration, Error>> Manager::register_buffer(
    std::uint64_t address, std::uint64_t size, std::string name, transport::AccessFlags access) {
  const std::shared_ptr<Core>& core = impl_->core;
  BufferTerms terms{.name = std::move(name),
                    .registrant = core->link->self().id,
                    .access = access,
                    .within = std::nullopt};
  return register_in(core, address, size, std::move(terms));
}

asio::awaitable<std::expected<void, Error>> Manager::release_buffer(std::uint64_t mr_id) {
  return release_in(impl_->core, mr_id);
}

asio::awaitable<std::expected<QueuePairHandle, Error>> Manager::queue_pair(
    messages::ActorRef other, std::optional<messages::Incarnation> incarnation,
    std::string self_device, std::string other_device, mailbox::Clock::time_point deadline) {
  return queue_pair_in(impl_->core, std::move(other), incarnation, std::move(self_device),
                       std::move(other_device), deadline);
}

asio::awaitable<std::expected<void, Error>> Manager::close_peer(
    messages::ActorRef other, std::string self_device, std::string other_device,
    mailbox::Clock::time_point deadline) {
  return close_in(impl_->core, std::move(other), std::move(self_device), std::move(other_device),
                  deadline);
}

std::vector<messages::DeviceInfo> Manager::devices() const {
  return impl_->core->devices.list();
}

asio::awaitable<void> Manager::tear_down() {
  return tear_down_all(impl_->core);
}

}  // namespace danaus::manager
