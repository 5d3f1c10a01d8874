// The handlers: one per message, each a line or two that says what it does; how is elsewhere.
#include <spdlog/fmt/fmt.h>

#include <utility>

#include "manager/core.hpp"

namespace danaus::manager {
namespace {

/// A message has at most 1 MiB and 65,536 values; a queue pair takes some 200 bytes and 15 values.
constexpr std::size_t max_queue_pairs_listed = 1'024;

}  // namespace

// ---- ManagerMessage ---------------------------------------------------------------------------

Core::Answer<messages::RequestBuffer> Core::handle(Envelope envelope,
                                                   messages::RequestBuffer message) {
  return buffers.add_for_other(message.addr, message.size, std::move(envelope.from.id));
}

Core::Answer<messages::ReleaseBuffer> Core::handle(Envelope envelope,
                                                   messages::ReleaseBuffer message) {
  using Result = std::expected<messages::Unit, Error>;
  const auto released =
      co_await buffers.remove_for(std::move(envelope.from.id), std::move(message.buffer));
  if (!released) {
    co_return std::unexpected{released.error()};
  }
  co_return Result{};
}

Core::Answer<messages::RequestQueuePair> Core::handle(Envelope envelope,
                                                      messages::RequestQueuePair message) {
  auto handle = co_await queue_pairs.request(std::move(message.other), std::nullopt,
                                             std::move(message.self_device),
                                             std::move(message.other_device), envelope.deadline);
  if (!handle) {
    co_return std::unexpected{std::move(handle).error()};
  }
  co_return std::move(handle->descriptor);
}

Core::Answer<messages::Connect> Core::handle(Envelope /*envelope*/, messages::Connect message) {
  return stepwise.connect(std::move(message));
}

Core::Answer<messages::InitializeQP> Core::handle(Envelope /*envelope*/,
                                                  messages::InitializeQP message) {
  auto answer = co_await stepwise.initialize(std::move(message));
  co_await connections.sweep();
  co_return answer;
}

Core::Answer<messages::ConnectionInfo> Core::handle(Envelope /*envelope*/,
                                                    messages::ConnectionInfo message) {
  return stepwise.endpoint(std::move(message));
}

Core::Answer<messages::ReleaseQueuePair> Core::handle(Envelope /*envelope*/,
                                                      messages::ReleaseQueuePair /*message*/) {
  using Result = std::expected<messages::Unit, Error>;
  co_return Result{};
}

Core::Answer<messages::GetQpState> Core::handle(Envelope /*envelope*/,
                                                messages::GetQpState message) {
  return stepwise.state(std::move(message));
}

// ---- ServiceMessage ---------------------------------------------------------------------------

Core::Answer<messages::ListDevices> Core::handle(Envelope /*envelope*/,
                                                 messages::ListDevices /*message*/) {
  co_return devices.list();
}

Core::Answer<messages::ListBuffers> Core::handle(Envelope /*envelope*/,
                                                 messages::ListBuffers /*message*/) {
  co_return buffers.table().offered();
}

Core::Answer<messages::LookupBuffer> Core::handle(Envelope /*envelope*/,
                                                  messages::LookupBuffer message) {
  const RegisteredBuffer* const found = buffers.table().find(message.buffer_name);
  if (found == nullptr) {
    co_return std::unexpected{
        Error{ErrorCode::not_found,
              fmt::format("{} offers no buffer named \"{}\"; ListBuffers shows those it offers",
                          link->self().id, message.buffer_name),
              {{"buffer", message.buffer_name}}}};
  }
  co_return found->registration.buffer;
}

Core::Answer<messages::Transfer> Core::handle(Envelope envelope, messages::Transfer message) {
  return transfers.run(std::move(message), envelope.deadline);
}

Core::Answer<messages::Atomic> Core::handle(Envelope envelope, messages::Atomic message) {
  return transfers.run(std::move(message), envelope.deadline);
}

Core::Answer<messages::GetStats> Core::handle(Envelope /*envelope*/,
                                              messages::GetStats /*message*/) {
  co_return stats();
}

Core::Answer<messages::ConnectPeer> Core::handle(Envelope envelope, messages::ConnectPeer message) {
  auto answer = co_await passive.connect(std::move(envelope.from), std::move(message));
  co_await connections.sweep();
  co_return answer;
}

Core::Answer<messages::PeerReady> Core::handle(Envelope envelope, messages::PeerReady message) {
  return passive.ready(std::move(envelope.from), std::move(message));
}

Core::Answer<messages::AbandonPeer> Core::handle(Envelope envelope, messages::AbandonPeer message) {
  return passive.abandon(std::move(envelope.from), std::move(message));
}

Core::Answer<messages::ClosePeer> Core::handle(Envelope envelope, messages::ClosePeer message) {
  return stepwise.close(std::move(envelope.from.id), std::move(message.other),
                        std::move(message.self_device), std::move(message.other_device),
                        envelope.deadline);
}

messages::Stats Core::stats() const {
  messages::Stats all{
      .self = link->self(),
      .incarnation = link->incarnation(),
      .version = DANAUS_VERSION,
      .uptime_seconds = std::chrono::duration<double>(Clock::now() - started_).count(),
      .buffers = buffers.table().size(),
      .queue_pairs = {},
      .counters = counters.by_name()};
  all.counters["manager.queue_pairs"] = connections.table.entries().size();
  for (const auto& [key, entry] : connections.table.entries()) {
    if (all.queue_pairs.size() == max_queue_pairs_listed) {
      break;
    }
    const transport::OperationQueue& operations = *entry->operations;
    all.queue_pairs.push_back({.queue_pair = connections.table.describe(key, *entry),
                               .path = std::string{operations.queue_pair().path()},
                               .phase = std::string{to_string(entry->handshake.phase())},
                               .operations = operations.completed_operations(),
                               .bytes = operations.completed_bytes()});
  }
  all.counters.merge(link->counters());
  if (more_counters_) {
    all.counters.merge(more_counters_());
  }
  return all;
}

}  // namespace danaus::manager
