// The states of a queue pair, and what is refused in each.
#include "tests/unit/transport/behaviour/behaviour_fixture.hpp"

namespace danaus::transport::testing {
namespace {

TEST_P(TransportBehaviour, StartsInReset) {
  EXPECT_EQ(new_queue_pair(a_)->state(), QueuePairState::reset);
}

TEST_P(TransportBehaviour, GoesFromResetToInitToRts) {
  const auto queue_pair = new_queue_pair(a_);
  const auto peer = new_queue_pair(b_);
  ASSERT_TRUE(queue_pair->initialize());
  EXPECT_EQ(queue_pair->state(), QueuePairState::init);
  ASSERT_TRUE(queue_pair->connect(peer->endpoint().value()));
  EXPECT_EQ(queue_pair->state(), QueuePairState::ready_to_send);
}

TEST_P(TransportBehaviour, ConnectsStraightFromReset) {
  const auto queue_pair = new_queue_pair(a_);
  const auto peer = new_queue_pair(b_);
  ASSERT_TRUE(queue_pair->connect(peer->endpoint().value()));
  EXPECT_EQ(queue_pair->state(), QueuePairState::ready_to_send);
}

TEST_P(TransportBehaviour, RefusesToInitialiseAConnectedQueuePair) {
  connect();
  const auto outcome = a_.queue_pair->initialize();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code(), ErrorCode::invalid_queue_pair_state);
  EXPECT_EQ(a_.queue_pair->state(), QueuePairState::ready_to_send);
}

TEST_P(TransportBehaviour, NeverLeavesErrorAgain) {
  connect();
  a_.queue_pair->move_to_error();
  const auto initialised = a_.queue_pair->initialize();
  ASSERT_FALSE(initialised);
  EXPECT_EQ(initialised.error().code(), ErrorCode::invalid_queue_pair_state);
  const auto connected = a_.queue_pair->connect(b_.queue_pair->endpoint().value());
  ASSERT_FALSE(connected);
  EXPECT_EQ(connected.error().code(), ErrorCode::invalid_queue_pair_state);
  EXPECT_EQ(a_.queue_pair->state(), QueuePairState::error);
}

TEST_P(TransportBehaviour, GoesToErrorFromAnyState) {
  const auto in_reset = new_queue_pair(a_);
  in_reset->move_to_error();
  EXPECT_EQ(in_reset->state(), QueuePairState::error);
  const auto in_init = new_queue_pair(a_);
  ASSERT_TRUE(in_init->initialize());
  in_init->move_to_error();
  EXPECT_EQ(in_init->state(), QueuePairState::error);
  connect();
  a_.queue_pair->move_to_error();
  a_.queue_pair->move_to_error();
  EXPECT_EQ(a_.queue_pair->state(), QueuePairState::error);
}

TEST_P(TransportBehaviour, ConnectsToTheSameEndpointOverAndOver) {
  connect();
  EXPECT_TRUE(a_.queue_pair->connect(b_.queue_pair->endpoint().value()));
  EXPECT_EQ(a_.queue_pair->state(), QueuePairState::ready_to_send);
  EXPECT_EQ(a_.queue_pair->remote_endpoint(), b_.queue_pair->endpoint().value());
}

TEST_P(TransportBehaviour, RefusesASecondEndpoint) {
  connect();
  const auto other = new_queue_pair(b_);
  const auto outcome = a_.queue_pair->connect(other->endpoint().value());
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code(), ErrorCode::connect_conflict);
  EXPECT_EQ(a_.queue_pair->remote_endpoint(), b_.queue_pair->endpoint().value());
}

TEST_P(TransportBehaviour, RefusesAnEndpointOfAnotherTransport) {
  const auto queue_pair = new_queue_pair(a_);
  const auto outcome = queue_pair->connect(transport_->foreign_endpoint());
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code(), ErrorCode::transport_mismatch);
  EXPECT_EQ(queue_pair->state(), QueuePairState::reset);
}

TEST_P(TransportBehaviour, NamesItselfInItsEndpoint) {
  const auto first = new_queue_pair(a_);
  const auto second = new_queue_pair(a_);
  EXPECT_EQ(first->endpoint().value().qp_num, first->number());
  EXPECT_NE(first->number(), second->number());
  EXPECT_EQ(first->endpoint().value(), first->endpoint().value());
  EXPECT_FALSE(first->remote_endpoint());
}

TEST_P(TransportBehaviour, RefusesToPostBeforeRts) {
  const auto queue_pair = new_queue_pair(a_);
  const auto in_reset = queue_pair->post(WorkRequest{});
  ASSERT_FALSE(in_reset);
  EXPECT_EQ(in_reset.error().code(), ErrorCode::invalid_queue_pair_state);
  ASSERT_TRUE(queue_pair->initialize());
  const auto in_init = queue_pair->post(WorkRequest{});
  ASSERT_FALSE(in_init);
  EXPECT_EQ(in_init.error().code(), ErrorCode::invalid_queue_pair_state);
}

TEST_P(TransportBehaviour, FlushesWhatIsPostedInError) {
  connect();
  const auto local = registered(a_, kib);
  const auto remote = registered(b_, kib);
  a_.queue_pair->move_to_error();
  EXPECT_EQ(carry_out(*a_.queue_pair, put(local, remote)), CompletionStatus::work_request_flushed);
}

TEST_P(TransportBehaviour, RefusesAWorkRequestThatIsTooLong) {
  connect();
  WorkRequest request;
  request.length = max_work_request_length + 1;
  const auto outcome = a_.queue_pair->post(request);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ(a_.queue_pair->state(), QueuePairState::ready_to_send);
}

TEST_P(TransportBehaviour, IsBusyWhenItsSendQueueIsFull) {
  connect({.max_send_wr = 4});
  EXPECT_EQ(a_.queue_pair->free_slots(), 4U);
  for (std::uint64_t id = 1; id <= 4; ++id) {
    ASSERT_TRUE(a_.queue_pair->post(WorkRequest{.id = id}));
  }
  EXPECT_EQ(a_.queue_pair->free_slots(), 0U);
  const auto outcome = a_.queue_pair->post(WorkRequest{.id = 5});
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code(), ErrorCode::busy);
  EXPECT_EQ(next(*a_.queue_pair).id, 1U);
  EXPECT_GE(a_.queue_pair->free_slots(), 1U);
  EXPECT_TRUE(a_.queue_pair->post(WorkRequest{.id = 6}));
}

}  // namespace
}  // namespace danaus::transport::testing
