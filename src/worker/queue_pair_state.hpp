// What stands behind a QueuePair: the queue pair, which others share, and the operations that were
// posted through this one object. Any thread.
#pragma once

#include <deque>
#include <memory>
#include <mutex>

#include "danaus/queue_pair.hpp"
#include "messages/values.hpp"
#include "transport/operation_queue.hpp"
#include "worker/operation.hpp"

namespace danaus {

struct QueuePair::State {
  State(std::shared_ptr<transport::OperationQueue> queue, messages::QueuePairDescriptor descriptor,
        const messages::Incarnation& incarnation)
      : operations{std::move(queue)},
        made_as{std::move(descriptor)},
        own_incarnation{incarnation} {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State();

  /// Check that the buffers belong to this queue pair. Throw Error.
  [[nodiscard]] transport::Operation prepare(transport::Opcode opcode, const BufferSlice& local,
                                             const RemoteBuffer& remote) const;
  [[nodiscard]] transport::Operation prepare(const worker::AtomicRequest& request,
                                             const RemoteBuffer& remote) const;
  void check_remote(const RemoteBuffer& remote) const;

  transport::OperationResult run(const transport::Operation& operation,
                                 std::chrono::milliseconds timeout) const;
  [[nodiscard]] std::uint64_t post(const transport::Operation& operation);
  [[nodiscard]] std::vector<Completion> poll(std::size_t max);
  Completion wait(std::uint64_t id, std::chrono::milliseconds timeout);

  // Shared with the manager's table and with everyone who asked for the same pair.
  std::shared_ptr<transport::OperationQueue> operations;
  messages::QueuePairDescriptor made_as;
  messages::Incarnation own_incarnation;

  std::mutex mutex;
  // Each in the order in which they were posted, which is that in which they complete.
  std::deque<transport::OperationId> posted;
  std::deque<transport::OperationId> receives;
};

}  // namespace danaus
