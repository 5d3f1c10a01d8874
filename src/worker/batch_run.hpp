// BatchRun: one submit of a batch. Connects to all peers at once, posts to each as soon as it can,
// and looks after all of them in turn until every operation is over. On the caller's thread; what
// the mailbox does for it arrives in its ConnectionInbox.
#pragma once

#include <cstddef>
#include <expected>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <asio/io_context.hpp>

#include "manager/manager.hpp"
#include "transport/operation_queue.hpp"
#include "worker/batch_plan.hpp"
#include "worker/blocking_calls.hpp"
#include "worker/connection_cache.hpp"
#include "worker/connection_inbox.hpp"

namespace danaus::worker {

/// How each operation ended, in the order of the plan.
using BatchOutcomes = std::vector<transport::OperationResult>;

/// What a run uses of its worker.
struct ConnectionSource {
  ConnectionCache& cache;
  BlockingCalls& calls;
  asio::io_context& mailbox;
  manager::Manager& manager;
};

class BatchRun {
 public:
  BatchRun(const BatchPlan& plan, ConnectionSource source, Clock::time_point deadline);
  BatchRun(const BatchRun&) = delete;
  BatchRun& operator=(const BatchRun&) = delete;
  /// Whatever is still under way is cut off: nothing touches the plan's memory afterwards.
  ~BatchRun();

  /// Once.
  [[nodiscard]] BatchOutcomes run();

 private:
  /// Tells a queue pair for as long as it lives that this thread polls it.
  class PollingScope {
   public:
    explicit PollingScope(transport::QueuePair& queue_pair) : queue_pair_{queue_pair} {
      queue_pair_.begin_polling();
    }
    PollingScope(const PollingScope&) = delete;
    PollingScope& operator=(const PollingScope&) = delete;
    ~PollingScope() { queue_pair_.end_polling(); }

   private:
    transport::QueuePair& queue_pair_;
  };

  struct Posted {
    std::size_t index = 0;
    transport::OperationId id = 0;
  };

  /// A link of the plan, on its way.
  struct Link {
    bool connecting = false;
    // Shared with the manager's table and the cache.
    std::shared_ptr<transport::OperationQueue> operations;
    std::optional<PollingScope> polling;
    /// In the order of posting, which is that of their ends.
    std::vector<Posted> posted;
    /// How many of `posted` are over.
    std::size_t over = 0;

    [[nodiscard]] bool is_under_way() const noexcept { return over < posted.size(); }
  };

  void connect();
  void start_connecting(std::size_t which);
  /// True: something has moved on.
  bool take_connections();
  void settle(std::size_t which, const Connected& connected);
  void post(std::size_t which);
  void fail(std::size_t which, const Error& reason);

  [[nodiscard]] std::size_t under_way() const;
  bool look_after(Link& link);
  bool look_after_all();
  void arm_all();
  void sleep();
  void finish(Link& link);
  void await_connections();
  void give_up_connecting(const Error& reason);

  const BatchPlan& plan_;
  ConnectionSource source_;
  const Clock::time_point deadline_;
  // Made when a connection is. Shared with the coroutines that connect, which may end after the
  // run.
  std::shared_ptr<ConnectionInbox> inbox_;
  // Through it a worker that ends can end the wait for connections.
  std::optional<BlockingCalls::Membership> membership_;
  std::size_t connecting_ = 0;
  std::vector<Link> links_;
  BatchOutcomes outcomes_;
};

}  // namespace danaus::worker
