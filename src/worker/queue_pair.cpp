// QueuePair of the public API.
#include "danaus/queue_pair.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <utility>

#include "worker/deadline.hpp"
#include "worker/local_buffer.hpp"
#include "worker/operation.hpp"
#include "worker/queue_pair_state.hpp"

namespace danaus {

using transport::Opcode;

// Results that nobody takes would stay with the shared queue for as long as it lives.
QueuePair::State::~State() {
  for (const transport::OperationId id : posted) {
    operations->discard(id);
  }
}

transport::Operation QueuePair::State::prepare(Opcode opcode, const BufferSlice& local,
                                               const RemoteBuffer& remote) const {
  const messages::RdmaBuffer& buffer = remote.wire();
  if (local.keys_->incarnation != own_incarnation) {
    throw Error{
        ErrorCode::invalid_argument,
        "the local buffer was registered by another worker than the one that made this queue "
        "pair; register it with this one"};
  }
  if (buffer.owner.id != made_as.other.id) {
    throw Error{
        ErrorCode::invalid_argument,
        fmt::format("this queue pair leads to {}, the remote buffer belongs to {}; ask for a "
                    "queue pair to its owner",
                    made_as.other.id, buffer.owner.id)};
  }
  if (made_as.incarnation && *made_as.incarnation != buffer.incarnation) {
    throw Error{ErrorCode::stale_peer,
                fmt::format("the remote buffer belongs to another life of {} than this queue pair "
                            "leads to; get a new handle and a new queue pair",
                            buffer.owner.id)};
  }
  const auto operation = worker::make_operation(opcode, local.memory_, *local.keys_,
                                                made_as.self_device, buffer, made_as.other_device);
  if (!operation) {
    throw Error{operation.error()};
  }
  return *operation;
}

void QueuePair::State::run(Opcode opcode, const BufferSlice& local, const RemoteBuffer& remote,
                           std::chrono::milliseconds timeout) {
  const auto deadline = worker::deadline_after(timeout);
  const auto outcome = operations->run(prepare(opcode, local, remote), deadline);
  if (!outcome) {
    throw Error{outcome.error()};
  }
}

std::uint64_t QueuePair::State::post(Opcode opcode, const BufferSlice& local,
                                     const RemoteBuffer& remote) {
  const auto operation = prepare(opcode, local, remote);
  const std::lock_guard lock{mutex};
  const auto id = operations->submit(operation);
  if (!id) {
    throw Error{id.error()};
  }
  posted.push_back(*id);
  return *id;
}

std::vector<Completion> QueuePair::State::poll(std::size_t max) {
  std::vector<Completion> completions;
  const std::lock_guard lock{mutex};
  while (completions.size() < max && !posted.empty()) {
    auto result = operations->try_take(posted.front());
    if (!result) {
      break;
    }
    completions.push_back({result->id, std::move(result->outcome)});
    posted.pop_front();
  }
  return completions;
}

void QueuePair::State::wait(std::uint64_t id, std::chrono::milliseconds timeout) {
  const auto deadline = worker::deadline_after(timeout);
  {
    const std::lock_guard lock{mutex};
    const auto found = std::ranges::find(posted, id);
    if (found == posted.end()) {
      throw Error{
          ErrorCode::not_found,
          fmt::format("no operation {} is outstanding on this queue pair: it was not posted "
                      "here, or its completion has been taken",
                      id)};
    }
    posted.erase(found);
  }
  const auto outcome = operations->wait(id, deadline);
  if (!outcome) {
    throw Error{outcome.error()};
  }
}

QueuePair::QueuePair(std::unique_ptr<State> state) : state_{std::move(state)} {}
QueuePair::QueuePair(QueuePair&&) noexcept = default;
QueuePair& QueuePair::operator=(QueuePair&&) noexcept = default;
QueuePair::~QueuePair() = default;

void QueuePair::put(const BufferSlice& local, const RemoteBuffer& remote,
                    std::chrono::milliseconds timeout) {
  state_->run(Opcode::rdma_write, local, remote, timeout);
}

void QueuePair::get(const BufferSlice& local, const RemoteBuffer& remote,
                    std::chrono::milliseconds timeout) {
  state_->run(Opcode::rdma_read, local, remote, timeout);
}

std::uint64_t QueuePair::post_put(const BufferSlice& local, const RemoteBuffer& remote) {
  return state_->post(Opcode::rdma_write, local, remote);
}

std::uint64_t QueuePair::post_get(const BufferSlice& local, const RemoteBuffer& remote) {
  return state_->post(Opcode::rdma_read, local, remote);
}

std::vector<Completion> QueuePair::poll(std::size_t max) {
  return state_->poll(max);
}

void QueuePair::wait(std::uint64_t id, std::chrono::milliseconds timeout) {
  state_->wait(id, timeout);
}

int QueuePair::fd() const noexcept {
  return state_->operations->fd();
}

void QueuePair::arm() {
  state_->operations->arm();
}

messages::QueuePairDescriptor QueuePair::describe() const {
  const transport::QueuePair& queue_pair = std::as_const(*state_->operations).queue_pair();
  messages::QueuePairDescriptor descriptor = state_->made_as;
  descriptor.state = static_cast<std::uint32_t>(queue_pair.state());
  descriptor.qp_num = queue_pair.number();
  if (const auto peer = queue_pair.remote_endpoint()) {
    descriptor.peer_qp_num = peer->qp_num;
  }
  return descriptor;
}

std::string QueuePair::path() const {
  return std::string{std::as_const(*state_->operations).queue_pair().path()};
}

}  // namespace danaus
