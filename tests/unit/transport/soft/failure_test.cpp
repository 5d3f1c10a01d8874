// How soft work requests fail: keys, bounds, rights, vanished memory, and peers that go.
#include <gtest/gtest.h>

#include <cstring>
#include <optional>

#include "soft_fixture.hpp"

namespace danaus::transport::soft::testing {
namespace {

class SoftFailure : public ::testing::Test {
 protected:
  // Carries out `work` and expects both ends to end in ERR with `status`.
  void expect_failure(End& left, End& right, const WorkRequest& work, CompletionStatus status) {
    EXPECT_EQ(run(*left.queue_pair, work), status);
    EXPECT_EQ(left.queue_pair->state(), QueuePairState::error);
    EXPECT_TRUE(await_state(*right.queue_pair, QueuePairState::error));
  }

  RunningEngine engine_;
};

TEST_F(SoftFailure, AGuessedRkeyIsARemoteAccessError) {
  for (const Opcode opcode : {Opcode::rdma_write, Opcode::rdma_read}) {
    End left{engine_, 4096};
    End right{engine_, 4096};
    connect(left, right);
    auto work = request(opcode, left, right, 64);
    work.rkey ^= 1U;
    expect_failure(left, right, work, CompletionStatus::remote_access_error);
  }
  EXPECT_EQ(engine_.counter("access_errors"), 2U);
}

TEST_F(SoftFailure, OneByteTooFarIsARemoteAccessErrorAndMovesNothing) {
  End left{engine_, 8192};
  End right{engine_, 4096};
  connect(left, right);
  std::memset(left.memory.data(), 1, 8192);
  expect_failure(left, right, request(Opcode::rdma_write, left, right, 4097),
                 CompletionStatus::remote_access_error);
  EXPECT_EQ(right.memory.data()[0], std::byte{0});
}

TEST_F(SoftFailure, ALargePutIntoWhatMayOnlyBeReadReportsTheErrorAndDoesNotHang) {
  End left{engine_, 64 * mebibyte};
  End right{engine_, 64 * mebibyte, AccessFlags::remote_read};
  connect(left, right);
  expect_failure(left, right, request(Opcode::rdma_write, left, right, 64 * mebibyte),
                 CompletionStatus::remote_access_error);
}

TEST_F(SoftFailure, AGetFromWhatMayOnlyBeWrittenIsARemoteAccessError) {
  End left{engine_, 4096};
  End right{engine_, 4096, AccessFlags::local_write | AccessFlags::remote_write};
  connect(left, right);
  expect_failure(left, right, request(Opcode::rdma_read, left, right, 64),
                 CompletionStatus::remote_access_error);
}

TEST_F(SoftFailure, AnUnknownLkeyOrTooLongALocalRangeIsALocalProtectionError) {
  for (const Opcode opcode : {Opcode::rdma_write, Opcode::rdma_read}) {
    End left{engine_, 4096};
    End right{engine_, 8192};
    connect(left, right);
    auto work = request(opcode, left, right, 64);
    work.lkey = right.region->lkey();
    EXPECT_EQ(run(*left.queue_pair, work), CompletionStatus::local_protection_error);
    End again{engine_, 4096};
    End other{engine_, 8192};
    connect(again, other);
    EXPECT_EQ(run(*again.queue_pair, request(opcode, again, other, 4097)),
              CompletionStatus::local_protection_error);
  }
}

TEST_F(SoftFailure, AGetIntoReadOnlyLocalMemoryIsALocalProtectionError) {
  End left{engine_, 4096, AccessFlags::remote_read};
  End right{engine_, 4096};
  connect(left, right);
  EXPECT_EQ(run(*left.queue_pair, request(Opcode::rdma_read, left, right, 64)),
            CompletionStatus::local_protection_error);
}

TEST_F(SoftFailure, VanishedRemoteMemoryIsARemoteOperationError) {
  for (const Opcode opcode : {Opcode::rdma_write, Opcode::rdma_read}) {
    for (const std::size_t gone_at : {std::size_t{0}, 5 * mebibyte + 4096}) {
      End left{engine_, 8 * mebibyte};
      End right{engine_, 8 * mebibyte};
      connect(left, right);
      right.memory.unmap(gone_at, 4096);
      expect_failure(left, right, request(opcode, left, right, 8 * mebibyte),
                     CompletionStatus::remote_operation_error);
    }
  }
  EXPECT_EQ(engine_.counter("memory_faults"), 4U);
}

TEST_F(SoftFailure, VanishedLocalMemoryIsALocalProtectionError) {
  for (const Opcode opcode : {Opcode::rdma_write, Opcode::rdma_read}) {
    for (const std::size_t gone_at : {std::size_t{0}, 5 * mebibyte + 4096}) {
      End left{engine_, 8 * mebibyte};
      End right{engine_, 8 * mebibyte};
      connect(left, right);
      left.memory.unmap(gone_at, 4096);
      EXPECT_EQ(run(*left.queue_pair, request(opcode, left, right, 8 * mebibyte)),
                CompletionStatus::local_protection_error);
      EXPECT_EQ(left.queue_pair->state(), QueuePairState::error);
    }
  }
}

TEST_F(SoftFailure, ADeregisteredRegionIsRefusedAtBothEnds) {
  End left{engine_, 4096};
  End right{engine_, 4096};
  connect(left, right);
  const auto work = request(Opcode::rdma_write, left, right, 64);
  must(right.region->deregister());
  must(right.region->deregister());
  expect_failure(left, right, work, CompletionStatus::remote_access_error);
  End again{engine_, 4096};
  End other{engine_, 4096};
  connect(again, other);
  const auto second = request(Opcode::rdma_write, again, other, 64);
  again.region->revoke();
  EXPECT_EQ(run(*again.queue_pair, second), CompletionStatus::local_protection_error);
}

TEST_F(SoftFailure, DeregisteringInTheMidstOfATransferEndsItAndIsNotKeptWaiting) {
  constexpr std::size_t size = 256 * mebibyte;
  for (const Opcode opcode : {Opcode::rdma_write, Opcode::rdma_read}) {
    End left{engine_, size};
    End right{engine_, size};
    connect(left, right);
    // Nobody polls: the transfer stalls with full pipes once the socket has taken its share.
    left.queue_pair->begin_polling();
    must(left.queue_pair->post(request(opcode, left, right, size)));
    must(right.region->deregister());
    right.memory.unmap(0, size);
    const auto completions = complete(*left.queue_pair, 1);
    left.queue_pair->end_polling();
    ASSERT_EQ(completions.size(), 1U);
    EXPECT_EQ(completions[0].status, CompletionStatus::remote_access_error);
  }
}

TEST_F(SoftFailure, TheFirstErrorIsReportedAndThoseBehindItAreFlushed) {
  End left{engine_, 4096};
  End right{engine_, 4096};
  connect(left, right);
  left.queue_pair->begin_polling();
  must(left.queue_pair->post(request(Opcode::rdma_write, left, right, 64, 1)));
  auto wrong = request(Opcode::rdma_write, left, right, 64, 2);
  wrong.lkey = 1;
  must(left.queue_pair->post(wrong));
  must(left.queue_pair->post(request(Opcode::rdma_write, left, right, 64, 3)));
  const auto completions = complete(*left.queue_pair, 3);
  left.queue_pair->end_polling();
  ASSERT_EQ(completions.size(), 3U);
  EXPECT_EQ(completions[0].status, CompletionStatus::success);
  EXPECT_EQ(completions[1].status, CompletionStatus::local_protection_error);
  EXPECT_EQ(completions[2].status, CompletionStatus::work_request_flushed);
  must(left.queue_pair->post(request(Opcode::rdma_write, left, right, 64, 4)));
  const auto flushed = complete(*left.queue_pair, 1);
  ASSERT_EQ(flushed.size(), 1U);
  EXPECT_EQ(flushed[0].status, CompletionStatus::work_request_flushed);
}

TEST_F(SoftFailure, APeerThatNobodyCanDialIsRetryExceeded) {
  RunningEngine passive{RunningEngine::passive()};
  End left{engine_, 4096};
  End right{passive, 4096};
  connect(left, right);
  EXPECT_EQ(run(*left.queue_pair, request(Opcode::rdma_write, left, right, 64)),
            CompletionStatus::retry_exceeded);
  End other{engine_, 4096};
  End dialler{passive, 4096};
  connect(other, dialler);
  EXPECT_EQ(run(*dialler.queue_pair, request(Opcode::rdma_write, dialler, other, 64)),
            CompletionStatus::success);
}

TEST_F(SoftFailure, APeerThatStoppedListeningIsRetryExceeded) {
  std::optional<RunningEngine> second{std::in_place};
  End left{engine_, 4096};
  auto right = std::make_unique<End>(*second, 4096);
  connect(left, *right);
  const auto work = request(Opcode::rdma_write, left, *right, 64);
  right.reset();
  second.reset();
  EXPECT_EQ(run(*left.queue_pair, work), CompletionStatus::retry_exceeded);
  EXPECT_EQ(left.queue_pair->state(), QueuePairState::error);
}

TEST_F(SoftFailure, AnIdleQueuePairNoticesThatItsPeerIsDestroyed) {
  for (const bool left_dialled : {true, false}) {
    End left{engine_, 4096};
    auto right = std::make_unique<End>(engine_, 4096);
    connect(left, *right);
    if (left_dialled) {
      EXPECT_EQ(run(*left.queue_pair, request(Opcode::rdma_write, left, *right, 64)),
                CompletionStatus::success);
    } else {
      EXPECT_EQ(run(*right->queue_pair, request(Opcode::rdma_write, *right, left, 64)),
                CompletionStatus::success);
    }
    right->queue_pair.reset();
    EXPECT_TRUE(await_state(*left.queue_pair, QueuePairState::error));
  }
}

TEST_F(SoftFailure, APeerDestroyedInMidTransferIsRetryExceededAndTheRestIsFlushed) {
  constexpr std::size_t size = 512 * mebibyte;
  for (const Opcode opcode : {Opcode::rdma_write, Opcode::rdma_read}) {
    End left{engine_, size};
    auto right = std::make_unique<End>(engine_, size);
    connect(left, *right);
    left.queue_pair->begin_polling();
    must(left.queue_pair->post(request(opcode, left, *right, size, 1)));
    must(left.queue_pair->post(request(opcode, left, *right, size, 2)));
    right->queue_pair.reset();
    const auto completions = complete(*left.queue_pair, 2);
    left.queue_pair->end_polling();
    ASSERT_EQ(completions.size(), 2U);
    EXPECT_EQ(completions[0].status, CompletionStatus::retry_exceeded);
    EXPECT_EQ(completions[1].status, CompletionStatus::work_request_flushed);
  }
}

TEST_F(SoftFailure, MovingToErrorFlushesAndLeavesLocalMemoryAlone) {
  constexpr std::size_t size = 256 * mebibyte;
  for (const bool polling : {true, false}) {
    End left{engine_, size};
    End right{engine_, size};
    connect(left, right);
    if (polling) {
      left.queue_pair->begin_polling();
    }
    must(left.queue_pair->post(request(Opcode::rdma_read, left, right, size, 1)));
    must(left.queue_pair->post(request(Opcode::rdma_write, left, right, size, 2)));
    left.queue_pair->move_to_error();
    left.memory.unmap(0, size);
    EXPECT_EQ(left.queue_pair->state(), QueuePairState::error);
    const auto completions = complete(*left.queue_pair, 2, /*announce=*/false);
    ASSERT_EQ(completions.size(), 2U);
    EXPECT_EQ(completions[0].status, CompletionStatus::work_request_flushed);
    EXPECT_EQ(completions[1].status, CompletionStatus::work_request_flushed);
    EXPECT_EQ(left.queue_pair->free_slots(), 512U);
    if (polling) {
      left.queue_pair->end_polling();
    }
  }
}

TEST_F(SoftFailure, MovingToErrorWakesASleeper) {
  End left{engine_, 4096};
  End right{engine_, 4096};
  // Connected one way only: the peer holds the hello back, so the request waits.
  must(left.queue_pair->connect(must(right.queue_pair->endpoint())));
  left.queue_pair->begin_polling();
  must(left.queue_pair->post(request(Opcode::rdma_write, left, right, 64)));
  left.queue_pair->arm();
  std::thread mover{[&] { left.queue_pair->move_to_error(); }};
  ::pollfd descriptor{.fd = left.queue_pair->fd(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&descriptor, 1, 20'000), 1);
  mover.join();
  left.queue_pair->end_polling();
}

TEST_F(SoftFailure, MovingToErrorEndsWhatACallerSleepsFor) {
  for (int i = 0; i < 20; ++i) {
    End left{engine_, 4096};
    End right{engine_, 4096};
    must(left.queue_pair->connect(must(right.queue_pair->endpoint())));
    must(left.queue_pair->post(request(Opcode::rdma_write, left, right, 64)));
    std::thread mover{[&] { left.queue_pair->move_to_error(); }};
    const auto completions = complete(*left.queue_pair, 1);
    mover.join();
    ASSERT_EQ(completions.size(), 1U);
    EXPECT_EQ(completions[0].status, CompletionStatus::work_request_flushed);
  }
}

TEST_F(SoftFailure, DestructionWithWorkOutstandingIsSafeInAnyOrder) {
  constexpr std::size_t size = 64 * mebibyte;
  for (int order = 0; order < 3; ++order) {
    RunningEngine engine;
    auto left = std::make_unique<End>(engine, size);
    auto right = std::make_unique<End>(engine, size);
    connect(*left, *right);
    must(left->queue_pair->post(request(Opcode::rdma_read, *left, *right, size)));
    must(right->queue_pair->post(request(Opcode::rdma_write, *right, *left, size)));
    switch (order) {
      case 0:
        left.reset();
        right.reset();
        break;
      case 1:
        right.reset();
        engine.stop();
        left.reset();
        break;
      default:
        engine.stop();
        break;
    }
  }
}

TEST_F(SoftFailure, StatesAreThoseOfAReliableConnectedQueuePair) {
  End left{engine_, 4096};
  End right{engine_, 4096};
  QueuePair& queue_pair = *left.queue_pair;
  EXPECT_EQ(queue_pair.state(), QueuePairState::reset);
  EXPECT_EQ(queue_pair.post(request(Opcode::rdma_write, left, right, 8)).error().code(),
            ErrorCode::invalid_queue_pair_state);
  must(queue_pair.initialize());
  EXPECT_EQ(queue_pair.state(), QueuePairState::init);
  EXPECT_FALSE(queue_pair.initialize());
  auto elsewhere = must(right.queue_pair->endpoint());
  elsewhere.soft.reset();
  EXPECT_EQ(queue_pair.connect(elsewhere).error().code(), ErrorCode::transport_mismatch);
  const auto peer = must(right.queue_pair->endpoint());
  must(queue_pair.connect(peer));
  EXPECT_EQ(queue_pair.state(), QueuePairState::ready_to_send);
  must(queue_pair.connect(peer));
  auto other = peer;
  other.qp_num ^= 1U;
  EXPECT_EQ(queue_pair.connect(other).error().code(), ErrorCode::connect_conflict);
  EXPECT_EQ(queue_pair.remote_endpoint(), peer);
  queue_pair.move_to_error();
  EXPECT_EQ(queue_pair.connect(peer).error().code(), ErrorCode::invalid_queue_pair_state);
}

TEST_F(SoftFailure, AFullSendQueueIsBusyUntilCompletionsAreTaken) {
  End left{engine_, 4096, full_access, QueuePairConfig{.max_send_wr = 2}};
  End right{engine_, 4096};
  connect(left, right);
  const auto work = request(Opcode::rdma_write, left, right, 8);
  must(left.queue_pair->post(work));
  must(left.queue_pair->post(work));
  EXPECT_EQ(left.queue_pair->free_slots(), 0U);
  EXPECT_EQ(left.queue_pair->post(work).error().code(), ErrorCode::busy);
  EXPECT_EQ(complete(*left.queue_pair, 2).size(), 2U);
  EXPECT_EQ(left.queue_pair->free_slots(), 2U);
  auto long_one = work;
  long_one.length = max_work_request_length + 1;
  EXPECT_EQ(left.queue_pair->post(long_one).error().code(), ErrorCode::invalid_argument);
}

TEST_F(SoftFailure, WaitsForAPeerThatIsAboutToBeConnected) {
  End left{engine_, 4096};
  End right{engine_, 4096};
  must(left.queue_pair->connect(must(right.queue_pair->endpoint())));
  must(left.queue_pair->post(request(Opcode::rdma_write, left, right, 64)));
  must(right.queue_pair->connect(must(left.queue_pair->endpoint())));
  const auto completions = complete(*left.queue_pair, 1);
  ASSERT_EQ(completions.size(), 1U);
  EXPECT_EQ(completions[0].status, CompletionStatus::success);
}

}  // namespace
}  // namespace danaus::transport::soft::testing
