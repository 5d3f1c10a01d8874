// Writes with immediate and the receives that they complete.
#include <algorithm>

#include "tests/unit/transport/behaviour/behaviour_fixture.hpp"

namespace danaus::transport::testing {
namespace {

WorkRequest put_with_immediate(const Registered& local, const Registered& remote,
                               std::uint32_t immediate, std::uint64_t id = 1) {
  return {.id = id,
          .opcode = Opcode::rdma_write_with_immediate,
          .local_address = local.memory.address(),
          .lkey = local.region->lkey(),
          .remote_address = remote.region->remote_address(),
          .rkey = remote.region->rkey(),
          .length = local.memory.size(),
          .immediate = immediate};
}

TEST_P(TransportBehaviour, AWriteWithImmediateCompletesAReceiveOnceItsDataAreThere) {
  connect();
  const auto local = registered(a_, 4 * mib);
  const auto remote = registered(b_, 4 * mib);
  local.memory.fill(1);
  ASSERT_TRUE(b_.queue_pair->post_receive(70));
  ASSERT_TRUE(a_.queue_pair->post(put_with_immediate(local, remote, 0xDEADBEEF)));
  // Before anyone looks at the sending side.
  const auto received = next(*b_.queue_pair);
  EXPECT_TRUE(remote.memory.is_filled(1));
  EXPECT_EQ(received.id, 70U);
  EXPECT_EQ(received.status, CompletionStatus::success);
  EXPECT_EQ(received.opcode, CompletionOpcode::receive_with_immediate);
  EXPECT_EQ(received.immediate, 0xDEADBEEFU);
  EXPECT_EQ(received.byte_length, 4 * mib);
  const auto sent = next(*a_.queue_pair);
  EXPECT_EQ(sent.id, 1U);
  EXPECT_EQ(sent.status, CompletionStatus::success);
  EXPECT_EQ(sent.opcode, CompletionOpcode::rdma_write);
}

TEST_P(TransportBehaviour, AWriteOfNothingCarriesAnImmediateToo) {
  connect();
  ASSERT_TRUE(b_.queue_pair->post_receive(1));
  EXPECT_EQ(carry_out(*a_.queue_pair,
                      {.id = 5, .opcode = Opcode::rdma_write_with_immediate, .immediate = 9}),
            CompletionStatus::success);
  const auto received = next(*b_.queue_pair);
  EXPECT_EQ(received.immediate, 9U);
  EXPECT_EQ(received.byte_length, 0U);
}

TEST_P(TransportBehaviour, APlainWriteLeavesReceivesAlone) {
  connect();
  const auto local = registered(a_, kib);
  const auto remote = registered(b_, kib);
  ASSERT_TRUE(b_.queue_pair->post_receive(1));
  EXPECT_EQ(carry_out(*a_.queue_pair, put(local, remote)), CompletionStatus::success);
  std::array<WorkCompletion, 1> completion;
  EXPECT_EQ(b_.queue_pair->poll(completion), 0U);
}

TEST_P(TransportBehaviour, ImmediatesArriveInTheOrderInWhichTheyWereSent) {
  connect();
  const auto local = registered(a_, kib);
  const auto remote = registered(b_, kib);
  for (std::uint32_t i = 0; i < 100; ++i) {
    ASSERT_TRUE(b_.queue_pair->post_receive(1000 + i));
  }
  for (std::uint32_t i = 0; i < 100; ++i) {
    ASSERT_TRUE(a_.queue_pair->post(put_with_immediate(local, remote, i)));
  }
  const auto received = next(*b_.queue_pair, 100);
  ASSERT_EQ(received.size(), 100U);
  for (std::uint32_t i = 0; i < 100; ++i) {
    EXPECT_EQ(received[i].id, 1000 + i);
    EXPECT_EQ(received[i].immediate, i);
  }
}

TEST_P(TransportBehaviour, AWriteWithImmediateWaitsForAReceive) {
  connect();
  const auto local = registered(a_, kib);
  const auto remote = registered(b_, kib);
  local.memory.fill(1);
  ASSERT_TRUE(a_.queue_pair->post(put_with_immediate(local, remote, 3)));
  ASSERT_TRUE(a_.queue_pair->post(put(local, remote, 2)));
  // Once the bytes are there, it waits for nothing else.
  ASSERT_TRUE(eventually([&] { return remote.memory.is_filled(1); }));
  std::array<WorkCompletion, 1> completion;
  EXPECT_EQ(a_.queue_pair->poll(completion), 0U);
  ASSERT_TRUE(b_.queue_pair->post_receive(8));
  EXPECT_EQ(next(*b_.queue_pair).immediate, 3U);
  for (const auto& sent : next(*a_.queue_pair, 2)) {
    EXPECT_EQ(sent.status, CompletionStatus::success);
  }
}

TEST_P(TransportBehaviour, AWriteThatWaitsForAReceiveKeepsNobodyElseWaiting) {
  connect();
  const auto local = registered(a_, kib);
  const auto remote = registered(b_, kib);
  local.memory.fill(1);
  ASSERT_TRUE(a_.queue_pair->post(put_with_immediate(local, remote, 3)));
  ASSERT_TRUE(eventually([&] { return remote.memory.is_filled(1); }));
  const End waiting_a{nullptr, std::move(a_.queue_pair)};
  const End waiting_b{nullptr, std::move(b_.queue_pair)};
  // More than there may be threads of the passive side.
  for (int i = 0; i < 4; ++i) {
    connect();
    EXPECT_EQ(carry_out(*a_.queue_pair, put(local, remote)), CompletionStatus::success);
    EXPECT_EQ(carry_out(*b_.queue_pair, get(remote, local)), CompletionStatus::success);
  }
}

TEST_P(TransportBehaviour, AWriteThatWaitsForAReceiveIsGivenUpWithItsQueuePair) {
  connect();
  const auto local = registered(a_, kib);
  const auto remote = registered(b_, kib);
  local.memory.fill(1);
  ASSERT_TRUE(a_.queue_pair->post(put_with_immediate(local, remote, 3)));
  ASSERT_TRUE(eventually([&] { return remote.memory.is_filled(1); }));
  a_.queue_pair->move_to_error();
  EXPECT_EQ(next(*a_.queue_pair).status, CompletionStatus::work_request_flushed);
  EXPECT_TRUE(comes_to_error(*b_.queue_pair));
}

TEST_P(TransportBehaviour, AWriteThatWaitsForAReceiveEndsWithThePeersQueuePair) {
  connect();
  ASSERT_TRUE(
      a_.queue_pair->post({.id = 1, .opcode = Opcode::rdma_write_with_immediate, .immediate = 9}));
  b_.queue_pair->move_to_error();
  EXPECT_EQ(next(*a_.queue_pair).status, CompletionStatus::retry_exceeded);
}

TEST_P(TransportBehaviour, ARefusedWriteWithImmediateCompletesNoReceive) {
  connect();
  const auto local = registered(a_, kib);
  const auto remote = registered(b_, kib);
  ASSERT_TRUE(b_.queue_pair->post_receive(4));
  auto request = put_with_immediate(local, remote, 3);
  request.rkey ^= 1;
  EXPECT_EQ(carry_out(*a_.queue_pair, request), CompletionStatus::remote_access_error);
  const auto received = next(*b_.queue_pair);
  EXPECT_EQ(received.id, 4U);
  EXPECT_EQ(received.status, CompletionStatus::work_request_flushed);
}

TEST_P(TransportBehaviour, FlushesReceivesWhenMovedToErrorAndFromThenOn) {
  connect();
  ASSERT_TRUE(b_.queue_pair->post_receive(1));
  ASSERT_TRUE(b_.queue_pair->post_receive(2));
  b_.queue_pair->move_to_error();
  ASSERT_TRUE(b_.queue_pair->post_receive(3));
  std::uint64_t id = 1;
  for (const auto& completion : next(*b_.queue_pair, 3)) {
    EXPECT_EQ(completion.id, id++);
    EXPECT_EQ(completion.status, CompletionStatus::work_request_flushed);
  }
}

TEST_P(TransportBehaviour, FlushesReceivesWhenThePeerIsGone) {
  connect();
  const auto local = registered(b_, kib);
  const auto remote = registered(a_, kib);
  // Connected by its own work alone, so that nothing of the peer's comes in.
  ASSERT_EQ(carry_out(*b_.queue_pair, put(local, remote)), CompletionStatus::success);
  ASSERT_TRUE(b_.queue_pair->post_receive(6));
  a_.queue_pair.reset();
  const auto completion = next(*b_.queue_pair);
  EXPECT_EQ(completion.id, 6U);
  EXPECT_EQ(completion.status, CompletionStatus::work_request_flushed);
}

TEST_P(TransportBehaviour, RefusesToPostAReceiveBeforeInit) {
  const auto queue_pair = new_queue_pair(a_);
  const auto posted = queue_pair->post_receive(1);
  ASSERT_FALSE(posted);
  EXPECT_EQ(posted.error().code(), ErrorCode::invalid_queue_pair_state);
  ASSERT_TRUE(queue_pair->initialize());
  EXPECT_TRUE(queue_pair->post_receive(1));
}

TEST_P(TransportBehaviour, TakesNoMoreReceivesThanItsQueueHolds) {
  connect({.max_send_wr = 4, .max_recv_wr = 2});
  ASSERT_TRUE(b_.queue_pair->post_receive(1));
  ASSERT_TRUE(b_.queue_pair->post_receive(2));
  const auto posted = b_.queue_pair->post_receive(3);
  ASSERT_FALSE(posted);
  EXPECT_EQ(posted.error().code(), ErrorCode::busy);
  EXPECT_EQ(carry_out(*a_.queue_pair, {.id = 1, .opcode = Opcode::rdma_write_with_immediate}),
            CompletionStatus::success);
  EXPECT_EQ(next(*b_.queue_pair).id, 1U);
  EXPECT_TRUE(b_.queue_pair->post_receive(3));
}

}  // namespace
}  // namespace danaus::transport::testing
