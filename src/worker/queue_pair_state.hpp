// What stands behind a QueuePair: the queue pair, which others share, and the operations that were
// posted through this one object. Any thread.
#pragma once

#include <deque>
#include <memory>
#include <mutex>

#include "danaus/queue_pair.hpp"
#include "messages/values.hpp"
#include "transport/operation_queue.hpp"

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

  /// Checks that both buffers belong to this queue pair. Throws Error.
  [[nodiscard]] transport::Operation prepare(transport::Opcode opcode, const BufferSlice& local,
                                             const RemoteBuffer& remote) const;
  void run(transport::Opcode opcode, const BufferSlice& local, const RemoteBuffer& remote,
           std::chrono::milliseconds timeout);
  [[nodiscard]] std::uint64_t post(transport::Opcode opcode, const BufferSlice& local,
                                   const RemoteBuffer& remote);
  [[nodiscard]] std::vector<Completion> poll(std::size_t max);
  void wait(std::uint64_t id, std::chrono::milliseconds timeout);

  // Shared with the manager's table and with everyone who asked for the same pair.
  std::shared_ptr<transport::OperationQueue> operations;
  messages::QueuePairDescriptor made_as;
  messages::Incarnation own_incarnation;

  std::mutex mutex;
  // In the order in which they were posted, which is that in which they complete.
  std::deque<transport::OperationId> posted;
};

}  // namespace danaus
