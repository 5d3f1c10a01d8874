// Puts and gets between two ends of one process, over TCP on loopback.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <random>
#include <thread>

#include "soft_fixture.hpp"

namespace danaus::transport::soft::testing {
namespace {

void fill(const Pages& pages, unsigned seed) {
  std::mt19937_64 random{seed};
  for (std::size_t i = 0; i + 8 <= pages.size(); i += 8) {
    const std::uint64_t value = random();
    std::memcpy(pages.data() + i, &value, sizeof value);
  }
}

bool same(const Pages& left, const Pages& right, std::size_t size) {
  return std::memcmp(left.data(), right.data(), size) == 0;
}

TEST(SoftTransfer, PutsASmallPayload) {
  RunningEngine engine;
  End left{engine, 4096};
  End right{engine, 4096};
  connect(left, right);
  fill(left.memory, 1);
  EXPECT_EQ(run(*left.queue_pair, request(Opcode::rdma_write, left, right, 8)),
            CompletionStatus::success);
  EXPECT_TRUE(same(left.memory, right.memory, 8));
  EXPECT_EQ(right.memory.data()[8], std::byte{0});
}

TEST(SoftTransfer, GetsASmallPayload) {
  RunningEngine engine;
  End left{engine, 4096};
  End right{engine, 4096};
  connect(left, right);
  fill(right.memory, 2);
  EXPECT_EQ(run(*left.queue_pair, request(Opcode::rdma_read, left, right, 32)),
            CompletionStatus::success);
  EXPECT_TRUE(same(left.memory, right.memory, 32));
  EXPECT_EQ(left.memory.data()[32], std::byte{0});
}

TEST(SoftTransfer, MovesManyMebibytesBothWays) {
  RunningEngine engine;
  constexpr std::size_t size = 37 * mebibyte + 4096;
  End left{engine, size};
  End right{engine, size};
  connect(left, right);
  fill(left.memory, 3);
  EXPECT_EQ(run(*left.queue_pair, request(Opcode::rdma_write, left, right, size)),
            CompletionStatus::success);
  EXPECT_TRUE(same(left.memory, right.memory, size));
  fill(right.memory, 4);
  EXPECT_EQ(run(*left.queue_pair, request(Opcode::rdma_read, left, right, size)),
            CompletionStatus::success);
  EXPECT_TRUE(same(left.memory, right.memory, size));
}

TEST(SoftTransfer, MovesBytesWhileNobodyPolls) {
  RunningEngine engine;
  constexpr std::size_t size = 24 * mebibyte;
  End left{engine, size};
  End right{engine, size};
  connect(left, right);
  fill(left.memory, 5);
  must(left.queue_pair->post(request(Opcode::rdma_write, left, right, size, 7)));
  engine.await_counter("bytes_written", size);
  const auto completions = complete(*left.queue_pair, 1, /*announce=*/false);
  ASSERT_EQ(completions.size(), 1U);
  EXPECT_EQ(completions[0].id, 7U);
  EXPECT_EQ(completions[0].status, CompletionStatus::success);
  EXPECT_TRUE(same(left.memory, right.memory, size));
}

TEST(SoftTransfer, CompletesInOrderPutsAndGetsMixed) {
  RunningEngine engine;
  End left{engine, 2 * mebibyte};
  End right{engine, 2 * mebibyte};
  connect(left, right);
  constexpr std::size_t count = 200;
  left.queue_pair->begin_polling();
  for (std::size_t i = 0; i < count; ++i) {
    const auto opcode = i % 3 == 0 ? Opcode::rdma_read : Opcode::rdma_write;
    must(left.queue_pair->post(request(opcode, left, right, (i * 7919) % (2 * mebibyte), i)));
  }
  const auto completions = complete(*left.queue_pair, count);
  left.queue_pair->end_polling();
  ASSERT_EQ(completions.size(), count);
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_EQ(completions[i].id, i);
    EXPECT_EQ(completions[i].status, CompletionStatus::success);
  }
}

TEST(SoftTransfer, RunsBothDirectionsAtOnceThroughFullPipes) {
  RunningEngine engine;
  constexpr std::size_t size = 32 * mebibyte;
  End left{engine, size};
  End right{engine, size};
  connect(left, right);
  for (std::uint64_t i = 0; i < 4; ++i) {
    const auto opcode = i % 2 == 0 ? Opcode::rdma_read : Opcode::rdma_write;
    must(left.queue_pair->post(request(opcode, left, right, size, i)));
    must(right.queue_pair->post(request(opcode, right, left, size, i)));
  }
  for (End* end : {&left, &right}) {
    const auto completions = complete(*end->queue_pair, 4, /*announce=*/false);
    ASSERT_EQ(completions.size(), 4U);
    EXPECT_TRUE(std::ranges::all_of(completions, [](const WorkCompletion& completion) {
      return completion.status == CompletionStatus::success;
    }));
  }
}

TEST(SoftTransfer, LoopsBackOverOneQueuePair) {
  RunningEngine engine;
  End only{engine, 8192};
  must(only.queue_pair->connect(must(only.queue_pair->endpoint())));
  fill(only.memory, 6);
  auto work = request(Opcode::rdma_write, only, only, 4096);
  work.remote_address += 4096;
  EXPECT_EQ(run(*only.queue_pair, work), CompletionStatus::success);
  EXPECT_EQ(std::memcmp(only.memory.data(), only.memory.data() + 4096, 4096), 0);
  EXPECT_EQ(only.queue_pair->state(), QueuePairState::ready_to_send);
}

TEST(SoftTransfer, AZeroLengthOperationLooksAtNoKey) {
  RunningEngine engine;
  End left{engine, 4096};
  End right{engine, 4096};
  connect(left, right);
  for (const Opcode opcode : {Opcode::rdma_write, Opcode::rdma_read}) {
    EXPECT_EQ(run(*left.queue_pair, WorkRequest{.id = 1, .opcode = opcode}),
              CompletionStatus::success);
  }
}

TEST(SoftTransfer, ABusyConnectionThatIsAloneOnItsThreadDoesNotKeepNewOnesOut) {
  auto config = RunningEngine::loopback();
  config.responders = 1;
  RunningEngine engine{config};
  End left{engine, 4096};
  End right{engine, 4096};
  connect(left, right);
  ASSERT_EQ(run(*left.queue_pair, request(Opcode::rdma_write, left, right, 8)),
            CompletionStatus::success);
  std::atomic<bool> stop = false;
  std::atomic<int> failures = 0;
  std::thread busy{[&] {
    while (!stop) {
      failures += run(*left.queue_pair, request(Opcode::rdma_write, left, right, 8)) !=
                  CompletionStatus::success;
    }
  }};
  for (int i = 0; i < 5; ++i) {
    End other{engine, 4096};
    End peer{engine, 4096};
    connect(other, peer);
    EXPECT_EQ(run(*other.queue_pair, request(Opcode::rdma_write, other, peer, 8)),
              CompletionStatus::success);
  }
  stop = true;
  busy.join();
  EXPECT_EQ(failures, 0);
}

}  // namespace
}  // namespace danaus::transport::soft::testing
