// Waiting for completions: on the fd, without polling, and through an OperationQueue.
#include <poll.h>

#include <atomic>
#include <thread>

#include "tests/unit/transport/behaviour/behaviour_fixture.hpp"
#include "transport/operation_queue.hpp"

namespace danaus::transport::testing {
namespace {

bool is_readable(int fd, int timeout_ms) {
  pollfd entry{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&entry, 1, timeout_ms) == 1;
}

constexpr int patience_ms = std::chrono::milliseconds{patience}.count();

Operation operation_of(const WorkRequest& request) {
  return {.opcode = request.opcode,
          .local_address = request.local_address,
          .lkey = request.lkey,
          .remote_address = request.remote_address,
          .rkey = request.rkey,
          .length = request.length};
}

TEST_P(TransportBehaviour, WakesASleeperOnItsFdWithoutBeingPolledMeanwhile) {
  connect();
  const auto local = registered(a_, 32 * mib);
  const auto remote = registered(b_, 32 * mib);
  local.memory.fill(1);
  ASSERT_TRUE(a_.queue_pair->post(put(local, remote)));
  std::array<WorkCompletion, 1> completion;
  std::size_t count = 0;
  while (count == 0) {
    a_.queue_pair->arm();
    count = a_.queue_pair->poll(completion);
    if (count == 0) {
      ASSERT_TRUE(is_readable(a_.queue_pair->fd(), patience_ms));
      count = a_.queue_pair->poll(completion);
    }
  }
  EXPECT_EQ(completion[0].status, CompletionStatus::success);
  EXPECT_TRUE(remote.memory.is_filled(1));
}

TEST_P(TransportBehaviour, AReceiveWakesASleeperOnItsFd) {
  connect();
  ASSERT_TRUE(b_.queue_pair->post_receive(1));
  b_.queue_pair->arm();
  std::array<WorkCompletion, 1> completion;
  ASSERT_EQ(b_.queue_pair->poll(completion), 0U);
  EXPECT_EQ(carry_out(*a_.queue_pair, {.id = 1, .opcode = Opcode::rdma_write_with_immediate}),
            CompletionStatus::success);
  EXPECT_TRUE(is_readable(b_.queue_pair->fd(), patience_ms));
  EXPECT_EQ(b_.queue_pair->poll(completion), 1U);
}

TEST_P(TransportBehaviour, MakesProgressThoughNobodyPolls) {
  connect();
  const auto local = registered(a_, 64 * mib);
  const auto remote = registered(b_, 64 * mib);
  local.memory.fill(1);
  ASSERT_TRUE(a_.queue_pair->post(put(local, remote, 1)));
  ASSERT_TRUE(a_.queue_pair->post(get(local, remote, 2)));
  ASSERT_TRUE(eventually([&] { return remote.memory.is_filled(1, 64 * mib - 1, 1, 0); }));
  for (const auto& completion : next(*a_.queue_pair, 2)) {
    EXPECT_EQ(completion.status, CompletionStatus::success);
  }
  EXPECT_TRUE(remote.memory.is_filled(1));
}

TEST_P(TransportBehaviour, LeavesItsFdQuietWhileThereIsNothingToDo) {
  connect();
  const auto local = registered(a_, kib);
  const auto remote = registered(b_, kib);
  ASSERT_EQ(carry_out(*a_.queue_pair, put(local, remote)), CompletionStatus::success);
  a_.queue_pair->arm();
  std::array<WorkCompletion, 1> none;
  ASSERT_EQ(a_.queue_pair->poll(none), 0U);
  EXPECT_FALSE(is_readable(a_.queue_pair->fd(), 0));
}

TEST_P(TransportBehaviour, WakesASleeperWhenItIsMovedToError) {
  connect({.max_send_wr = 8});
  const auto local = registered_sparse(a_, gib);
  const auto remote = registered_sparse(b_, gib);
  ASSERT_TRUE(a_.queue_pair->post(put(local, remote)));
  std::thread other{[&] { a_.queue_pair->move_to_error(); }};
  EXPECT_EQ(next(*a_.queue_pair).status, CompletionStatus::work_request_flushed);
  other.join();
}

TEST_P(TransportBehaviour, CarriesLongOperationsThroughAnOperationQueue) {
  connect();
  OperationQueue queue{std::move(a_.queue_pair), "b"};
  const auto length = gib + 1;
  const auto local = registered_sparse(a_, length);
  const auto remote = registered_sparse(b_, length + 1);
  local.memory.fill(1, 0, kib);
  local.memory.fill(2, gib, 1);
  ASSERT_TRUE(queue.run(operation_of(put(local, remote)), Clock::now() + patience));
  EXPECT_TRUE(remote.memory.is_filled(1, 0, kib, 0));
  EXPECT_TRUE(remote.memory.is_filled(2, gib, 1, gib));
  EXPECT_TRUE(remote.memory.is_untouched(gib + 1, 1));
  remote.memory.fill(3, 0, kib);
  remote.memory.fill(4, gib, 1);
  ASSERT_TRUE(queue.run(operation_of(get(local, remote)), Clock::now() + patience));
  EXPECT_TRUE(local.memory.is_filled(3, 0, kib, 0));
  EXPECT_TRUE(local.memory.is_filled(4, gib, 1, gib));
}

TEST_P(TransportBehaviour, TimesOutInAnOperationQueueAndTouchesNothingAfterwards) {
  connect();
  OperationQueue queue{std::move(a_.queue_pair), "b"};
  const auto local = registered_sparse(a_, gib);
  const auto remote = registered_sparse(b_, gib);
  remote.memory.fill(1, 4 * kib, 4 * mib);
  const auto outcome = queue.run(operation_of(get(local, remote)), Clock::now());
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code(), ErrorCode::timeout);
  local.memory.fill(2, 4 * kib, 4 * mib);
  EXPECT_EQ(queue.queue_pair().state(), QueuePairState::error);
  EXPECT_TRUE(comes_to_error(*b_.queue_pair));
  EXPECT_TRUE(local.memory.is_filled(2, 4 * kib, 4 * mib, 4 * kib));
}

TEST_P(TransportBehaviour, LetsManyThreadsShareAnOperationQueue) {
  constexpr int threads = 6;
  constexpr int operations = 200;
  connect({.max_send_wr = 4});
  OperationQueue queue{std::move(a_.queue_pair), "b"};
  const auto local = registered(a_, 256 * kib);
  const auto remote = registered(b_, 256 * kib);
  std::atomic<int> succeeded = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < threads; ++i) {
    callers.emplace_back([&, i] {
      for (int j = 0; j < operations; ++j) {
        auto request = (i + j) % 2 == 0 ? put(local, remote) : get(local, remote);
        request.length = j % 5 == 0 ? 256 * kib : 8;
        if (i % 3 != 0) {
          succeeded += queue.run(operation_of(request), Clock::now() + patience) ? 1 : 0;
          continue;
        }
        const auto id = queue.submit(operation_of(request)).value();
        for (;;) {
          queue.arm();
          if (const auto result = queue.try_take(id)) {
            succeeded += result->outcome ? 1 : 0;
            break;
          }
          if (!is_readable(queue.fd(), patience_ms)) {
            ADD_FAILURE() << "the fd of the operation queue stayed quiet";
            break;
          }
        }
      }
    });
  }
  for (auto& caller : callers) {
    caller.join();
  }
  EXPECT_EQ(succeeded, threads * operations);
}

}  // namespace
}  // namespace danaus::transport::testing
