// What goes away in the middle: the queue pair, the peer, the registration, the memory. Whatever is
// outstanding ends, in bounded time, and no memory is touched after its completion.
#include "tests/unit/transport/behaviour/behaviour_fixture.hpp"

namespace danaus::transport::testing {
namespace {

using ::testing::AnyOf;
using ::testing::Each;
using ::testing::Field;
using ::testing::Ne;

// Long enough to be still under way when the next statement runs.
constexpr std::size_t long_length = gib;

TEST_P(TransportBehaviour, FlushesWhatIsBehindAnError) {
  connect();
  const auto local = registered(a_, kib);
  const auto remote = registered(b_, kib);
  auto bad = put(local, remote, 2);
  bad.rkey ^= 1;
  ASSERT_TRUE(a_.queue_pair->post(put(local, remote, 1)));
  ASSERT_TRUE(a_.queue_pair->post(bad));
  ASSERT_TRUE(a_.queue_pair->post(put(local, remote, 3)));
  ASSERT_TRUE(a_.queue_pair->post(get(local, remote, 4)));
  const auto completions = next(*a_.queue_pair, 4);
  ASSERT_EQ(completions.size(), 4U);
  EXPECT_EQ(completions[0].status, CompletionStatus::success);
  EXPECT_EQ(completions[1].status, CompletionStatus::remote_access_error);
  EXPECT_EQ(completions[2].status, CompletionStatus::work_request_flushed);
  EXPECT_EQ(completions[3].status, CompletionStatus::work_request_flushed);
  for (std::size_t i = 0; i < completions.size(); ++i) {
    EXPECT_EQ(completions[i].id, i + 1);
  }
}

TEST_P(TransportBehaviour, CompletesWhatPrecedesALocalError) {
  connect();
  const auto local = registered(a_, mib);
  const auto remote = registered(b_, mib);
  auto bad = put(local, remote, 3);
  bad.lkey ^= 1;
  ASSERT_TRUE(a_.queue_pair->post(put(local, remote, 1)));
  ASSERT_TRUE(a_.queue_pair->post(get(local, remote, 2)));
  ASSERT_TRUE(a_.queue_pair->post(bad));
  ASSERT_TRUE(a_.queue_pair->post(put(local, remote, 4)));
  const auto completions = next(*a_.queue_pair, 4);
  ASSERT_EQ(completions.size(), 4U);
  EXPECT_EQ(completions[0].status, CompletionStatus::success);
  EXPECT_EQ(completions[1].status, CompletionStatus::success);
  EXPECT_EQ(completions[2].status, CompletionStatus::local_protection_error);
  EXPECT_EQ(completions[3].status, CompletionStatus::work_request_flushed);
}

TEST_P(TransportBehaviour, CompletesEverythingThatIsOutstandingWhenMovedToError) {
  connect();
  const auto local = registered_sparse(a_, long_length);
  const auto remote = registered_sparse(b_, long_length);
  for (std::uint64_t id = 1; id <= 8; ++id) {
    ASSERT_TRUE(a_.queue_pair->post(id % 2 == 0 ? put(local, remote, id) : get(local, remote, id)));
  }
  a_.queue_pair->move_to_error();
  const auto completions = next(*a_.queue_pair, 8);
  EXPECT_THAT(completions,
              Each(Field(&WorkCompletion::status, CompletionStatus::work_request_flushed)));
}

TEST_P(TransportBehaviour, WritesNothingAfterTheFlushOfAGet) {
  connect();
  const auto local = registered_sparse(a_, long_length);
  const auto remote = registered_sparse(b_, long_length);
  remote.memory.fill(1, 4 * kib, 4 * mib);
  ASSERT_TRUE(a_.queue_pair->post(get(local, remote)));
  // The first MiB has come, more is on its way.
  ASSERT_TRUE(eventually([&] {
    std::array<WorkCompletion, 1> none;
    a_.queue_pair->poll(none);
    return !local.memory.is_untouched(4 * kib, 1);
  }));
  a_.queue_pair->move_to_error();
  ASSERT_EQ(next(*a_.queue_pair).status, CompletionStatus::work_request_flushed);
  local.memory.fill(2, 4 * kib, 4 * mib);
  ASSERT_TRUE(comes_to_error(*b_.queue_pair));
  EXPECT_TRUE(local.memory.is_filled(2, 4 * kib, 4 * mib, 4 * kib));
}

TEST_P(TransportBehaviour, EndsWhenThePeersQueuePairIsDestroyed) {
  connect();
  const auto local = registered_sparse(a_, long_length);
  const auto remote = registered_sparse(b_, long_length);
  ASSERT_TRUE(a_.queue_pair->post(put(local, remote, 1)));
  ASSERT_TRUE(a_.queue_pair->post(get(local, remote, 2)));
  b_.queue_pair.reset();
  const auto completions = next(*a_.queue_pair, 2);
  ASSERT_EQ(completions.size(), 2U);
  EXPECT_THAT(completions[0].status,
              AnyOf(CompletionStatus::retry_exceeded, CompletionStatus::work_request_flushed));
  EXPECT_EQ(completions[1].status, CompletionStatus::work_request_flushed);
  EXPECT_EQ(a_.queue_pair->state(), QueuePairState::error);
}

TEST_P(TransportBehaviour, NoticesWhileIdleThatThePeerIsGone) {
  connect();
  const auto local = registered(a_, kib);
  const auto remote = registered(b_, kib);
  ASSERT_EQ(carry_out(*a_.queue_pair, put(local, remote)), CompletionStatus::success);
  b_.queue_pair.reset();
  EXPECT_TRUE(comes_to_error(*a_.queue_pair));
}

TEST_P(TransportBehaviour, EndsTheOtherSideWhenItsPeerIsMovedToError) {
  connect();
  const auto local = registered(a_, kib);
  const auto remote = registered(b_, kib);
  ASSERT_EQ(carry_out(*a_.queue_pair, put(local, remote)), CompletionStatus::success);
  a_.queue_pair->move_to_error();
  EXPECT_TRUE(comes_to_error(*b_.queue_pair));
}

TEST_P(TransportBehaviour, ExceedsItsRetriesWhereNobodyAnswers) {
  a_.queue_pair = new_queue_pair(a_);
  ASSERT_TRUE(a_.queue_pair->connect(transport_->unreachable_endpoint()));
  const auto local = registered(a_, kib);
  EXPECT_EQ(carry_out(*a_.queue_pair, put(local, local)), CompletionStatus::retry_exceeded);
  EXPECT_EQ(a_.queue_pair->state(), QueuePairState::error);
}

TEST_P(TransportBehaviour, WaitsForAPeerThatConnectsLater) {
  a_.queue_pair = new_queue_pair(a_);
  b_.queue_pair = new_queue_pair(b_);
  ASSERT_TRUE(b_.queue_pair->initialize());
  ASSERT_TRUE(a_.queue_pair->connect(b_.queue_pair->endpoint().value()));
  const auto local = registered(a_, kib);
  const auto remote = registered(b_, kib);
  local.memory.fill(1);
  ASSERT_TRUE(a_.queue_pair->post(put(local, remote)));
  ASSERT_TRUE(b_.queue_pair->connect(a_.queue_pair->endpoint().value()));
  EXPECT_EQ(next(*a_.queue_pair).status, CompletionStatus::success);
  EXPECT_TRUE(remote.memory.is_filled(1));
}

TEST_P(TransportBehaviour, TakesNothingFromAnotherQueuePairThanItsPeer) {
  connect();
  const auto stranger = new_queue_pair(a_);
  ASSERT_TRUE(stranger->connect(b_.queue_pair->endpoint().value()));
  const auto local = registered(a_, kib);
  const auto remote = registered(b_, kib);
  local.memory.fill(1);
  EXPECT_NE(carry_out(*stranger, put(local, remote)), CompletionStatus::success);
  EXPECT_TRUE(remote.memory.is_untouched());
  EXPECT_EQ(carry_out(*a_.queue_pair, put(local, remote)), CompletionStatus::success);
}

TEST_P(TransportBehaviour, WritesNothingIntoARegionThatWasReleasedDuringAPut) {
  connect();
  const auto local = registered_sparse(a_, long_length);
  const auto remote = registered_sparse(b_, long_length);
  local.memory.fill(1, 4 * kib, 4 * mib);
  ASSERT_TRUE(a_.queue_pair->post(put(local, remote)));
  ASSERT_TRUE(eventually([&] {
    std::array<WorkCompletion, 1> none;
    a_.queue_pair->poll(none);
    return !remote.memory.is_untouched(4 * kib, 1);
  }));
  ASSERT_TRUE(remote.region->deregister());
  remote.memory.fill(2, 4 * kib, 4 * mib);
  EXPECT_EQ(next(*a_.queue_pair).status, CompletionStatus::remote_access_error);
  EXPECT_TRUE(remote.memory.is_filled(2, 4 * kib, 4 * mib, 4 * kib));
}

TEST_P(TransportBehaviour, WritesNothingIntoARegionThatWasReleasedDuringAGet) {
  connect();
  const auto local = registered_sparse(a_, long_length);
  const auto remote = registered_sparse(b_, long_length);
  remote.memory.fill(1, 4 * kib, 4 * mib);
  ASSERT_TRUE(a_.queue_pair->post(get(local, remote)));
  ASSERT_TRUE(eventually([&] {
    std::array<WorkCompletion, 1> none;
    a_.queue_pair->poll(none);
    return !local.memory.is_untouched(4 * kib, 1);
  }));
  ASSERT_TRUE(local.region->deregister());
  local.memory.fill(2, 4 * kib, 4 * mib);
  EXPECT_EQ(next(*a_.queue_pair).status, CompletionStatus::local_protection_error);
  EXPECT_TRUE(local.memory.is_filled(2, 4 * kib, 4 * mib, 4 * kib));
}

TEST_P(TransportBehaviour, EndsAGetFromARegionThatIsReleasedMeanwhile) {
  connect();
  const auto local = registered_sparse(a_, long_length);
  const auto remote = registered_sparse(b_, long_length);
  ASSERT_TRUE(a_.queue_pair->post(get(local, remote)));
  ASSERT_TRUE(remote.region->deregister());
  EXPECT_EQ(next(*a_.queue_pair).status, CompletionStatus::remote_access_error);
}

TEST_P(TransportBehaviour, EndsAPutFromARegionThatIsReleasedMeanwhile) {
  connect();
  const auto local = registered_sparse(a_, long_length);
  const auto remote = registered_sparse(b_, long_length);
  ASSERT_TRUE(a_.queue_pair->post(put(local, remote)));
  ASSERT_TRUE(local.region->deregister());
  EXPECT_EQ(next(*a_.queue_pair).status, CompletionStatus::local_protection_error);
}

TEST_P(TransportBehaviour, SurvivesThatLocalMemoryVanishes) {
  const auto remote = registered(b_, 8 * mib);
  {
    connect();
    const auto local = registered(a_, 8 * mib);
    local.memory.vanish();
    EXPECT_EQ(carry_out(*a_.queue_pair, put(local, remote)),
              CompletionStatus::local_protection_error);
  }
  {
    connect();
    const auto local = registered(a_, 8 * mib);
    local.memory.vanish();
    EXPECT_EQ(carry_out(*a_.queue_pair, get(local, remote)),
              CompletionStatus::local_protection_error);
  }
}

TEST_P(TransportBehaviour, SurvivesThatRemoteMemoryVanishes) {
  const auto local = registered(a_, 8 * mib);
  const auto refused =
      AnyOf(CompletionStatus::remote_operation_error, CompletionStatus::remote_access_error);
  {
    connect();
    const auto remote = registered(b_, 8 * mib);
    remote.memory.vanish();
    EXPECT_THAT(carry_out(*a_.queue_pair, put(local, remote)), refused);
  }
  {
    connect();
    const auto remote = registered(b_, 8 * mib);
    remote.memory.vanish();
    EXPECT_THAT(carry_out(*a_.queue_pair, get(local, remote)), refused);
  }
  // The peer's side serves others as before.
  connect();
  const auto remote = registered(b_, 8 * mib);
  EXPECT_EQ(carry_out(*a_.queue_pair, put(local, remote)), CompletionStatus::success);
}

TEST_P(TransportBehaviour, IsDestroyedWithWorkOutstanding) {
  connect();
  const auto local = registered_sparse(a_, long_length);
  const auto remote = registered_sparse(b_, long_length);
  remote.memory.fill(1, 4 * kib, 4 * mib);
  ASSERT_TRUE(a_.queue_pair->post(get(local, remote, 1)));
  ASSERT_TRUE(a_.queue_pair->post(put(local, remote, 2)));
  a_.queue_pair.reset();
  local.memory.fill(2, 4 * kib, 4 * mib);
  EXPECT_TRUE(comes_to_error(*b_.queue_pair));
  EXPECT_TRUE(local.memory.is_filled(2, 4 * kib, 4 * mib, 4 * kib));
}

}  // namespace
}  // namespace danaus::transport::testing
