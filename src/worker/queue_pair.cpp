// QueuePair of the public API.
#include "danaus/queue_pair.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <utility>

#include "worker/deadline.hpp"
#include "worker/local_buffer.hpp"
#include "worker/queue_pair_state.hpp"

namespace danaus {

using transport::Opcode;
using worker::compare_swap_request;
using worker::fetch_add_request;

namespace {

Completion completion_of(transport::OperationResult result) {
  return {.id = result.id,
          .outcome = std::move(result.outcome),
          .value = result.value,
          .received = {.immediate = result.immediate, .size = result.length}};
}

/// Throws its error, if it is one.
transport::OperationResult checked(transport::OperationResult result) {
  if (!result.outcome) {
    throw Error{result.outcome.error()};
  }
  return result;
}

transport::Operation with_immediate(transport::Operation put, std::uint32_t immediate) {
  put.opcode = Opcode::rdma_write_with_immediate;
  put.immediate = immediate;
  return put;
}

}  // namespace

// Results that nobody takes would stay with the shared queue for as long as it lives.
QueuePair::State::~State() {
  for (const auto* ids : {&posted, &receives}) {
    for (const transport::OperationId id : *ids) {
      operations->discard(id);
    }
  }
}

transport::Operation QueuePair::State::prepare(Opcode opcode, const BufferSlice& local,
                                               const RemoteBuffer& remote) const {
  if (local.keys_->incarnation != own_incarnation) {
    throw Error{
        ErrorCode::invalid_argument,
        "the local buffer was registered by another worker than the one that made this queue "
        "pair; register it with this one"};
  }
  check_remote(remote);
  const auto operation =
      worker::make_operation(opcode, local.memory_, *local.keys_, made_as.self_device,
                             remote.wire(), made_as.other_device);
  if (!operation) {
    throw Error{operation.error()};
  }
  return *operation;
}

transport::Operation QueuePair::State::prepare(const worker::AtomicRequest& request,
                                               const RemoteBuffer& remote) const {
  check_remote(remote);
  const auto operation = worker::make_atomic(request, remote.wire(), made_as.other_device);
  if (!operation) {
    throw Error{operation.error()};
  }
  return *operation;
}

void QueuePair::State::check_remote(const RemoteBuffer& remote) const {
  const messages::RdmaBuffer& buffer = remote.wire();
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
}

transport::OperationResult QueuePair::State::run(const transport::Operation& operation,
                                                 std::chrono::milliseconds timeout) const {
  return checked(operations->run_for_result(operation, worker::deadline_after(timeout)));
}

std::uint64_t QueuePair::State::post(const transport::Operation& operation) {
  const std::lock_guard lock{mutex};
  const auto id = operations->submit(operation);
  if (!id) {
    throw Error{id.error()};
  }
  (operation.receive ? receives : posted).push_back(*id);
  return *id;
}

std::vector<Completion> QueuePair::State::poll(std::size_t max) {
  std::vector<Completion> completions;
  const std::lock_guard lock{mutex};
  for (auto* ids : {&posted, &receives}) {
    while (completions.size() < max && !ids->empty()) {
      auto result = operations->try_take(ids->front());
      if (!result) {
        break;
      }
      completions.push_back(completion_of(*std::move(result)));
      ids->pop_front();
    }
  }
  return completions;
}

Completion QueuePair::State::wait(std::uint64_t id, std::chrono::milliseconds timeout) {
  const auto deadline = worker::deadline_after(timeout);
  {
    const std::lock_guard lock{mutex};
    if (std::erase(posted, id) + std::erase(receives, id) == 0) {
      throw Error{
          ErrorCode::not_found,
          fmt::format("no operation {} is outstanding on this queue pair: it was not posted "
                      "here, or its completion has been taken",
                      id)};
    }
  }
  return completion_of(checked(operations->wait_for_result(id, deadline)));
}

QueuePair::QueuePair(std::unique_ptr<State> state) : state_{std::move(state)} {}
QueuePair::QueuePair(QueuePair&&) noexcept = default;
QueuePair& QueuePair::operator=(QueuePair&&) noexcept = default;
QueuePair::~QueuePair() = default;

void QueuePair::put(const BufferSlice& local, const RemoteBuffer& remote,
                    std::chrono::milliseconds timeout) {
  state_->run(state_->prepare(Opcode::rdma_write, local, remote), timeout);
}

void QueuePair::get(const BufferSlice& local, const RemoteBuffer& remote,
                    std::chrono::milliseconds timeout) {
  state_->run(state_->prepare(Opcode::rdma_read, local, remote), timeout);
}

std::uint64_t QueuePair::post_put(const BufferSlice& local, const RemoteBuffer& remote) {
  return state_->post(state_->prepare(Opcode::rdma_write, local, remote));
}

std::uint64_t QueuePair::post_get(const BufferSlice& local, const RemoteBuffer& remote) {
  return state_->post(state_->prepare(Opcode::rdma_read, local, remote));
}

std::uint64_t QueuePair::fetch_add(const RemoteBuffer& remote, std::uint64_t offset,
                                   std::uint64_t value, std::chrono::milliseconds timeout) {
  return state_->run(state_->prepare(fetch_add_request(offset, value), remote), timeout).value;
}

std::uint64_t QueuePair::compare_swap(const RemoteBuffer& remote, std::uint64_t offset,
                                      std::uint64_t expected, std::uint64_t desired,
                                      std::chrono::milliseconds timeout) {
  const auto request = compare_swap_request(offset, expected, desired);
  return state_->run(state_->prepare(request, remote), timeout).value;
}

std::uint64_t QueuePair::post_fetch_add(const RemoteBuffer& remote, std::uint64_t offset,
                                        std::uint64_t value) {
  return state_->post(state_->prepare(fetch_add_request(offset, value), remote));
}

std::uint64_t QueuePair::post_compare_swap(const RemoteBuffer& remote, std::uint64_t offset,
                                           std::uint64_t expected, std::uint64_t desired) {
  return state_->post(state_->prepare(compare_swap_request(offset, expected, desired), remote));
}

void QueuePair::put_with_immediate(const BufferSlice& local, const RemoteBuffer& remote,
                                   std::uint32_t immediate, std::chrono::milliseconds timeout) {
  const auto put = state_->prepare(Opcode::rdma_write, local, remote);
  state_->run(with_immediate(put, immediate), timeout);
}

std::uint64_t QueuePair::post_put_with_immediate(const BufferSlice& local,
                                                 const RemoteBuffer& remote,
                                                 std::uint32_t immediate) {
  const auto put = state_->prepare(Opcode::rdma_write, local, remote);
  return state_->post(with_immediate(put, immediate));
}

Received QueuePair::receive(std::chrono::milliseconds timeout) {
  return completion_of(state_->run({.receive = true}, timeout)).received;
}

std::uint64_t QueuePair::post_receive() {
  return state_->post({.receive = true});
}

std::vector<Completion> QueuePair::poll(std::size_t max) {
  return state_->poll(max);
}

Completion QueuePair::wait(std::uint64_t id, std::chrono::milliseconds timeout) {
  return state_->wait(id, timeout);
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
