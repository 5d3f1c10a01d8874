// Keys, bounds and access flags: what is refused, with which status, and that nothing is touched.
#include <limits>

#include "tests/unit/transport/behaviour/behaviour_fixture.hpp"

namespace danaus::transport::testing {
namespace {

constexpr auto no_writing = AccessFlags::local_write | AccessFlags::remote_read;
constexpr auto no_reading = AccessFlags::local_write | AccessFlags::remote_write;

TEST_P(TransportBehaviour, RegistersWithAddressesAndKeysOfItsOwn) {
  const auto first = registered(a_, kib);
  const auto second = registered(a_, kib);
  EXPECT_EQ(first.region->address(), first.memory.address());
  EXPECT_EQ(first.region->size(), kib);
  EXPECT_NE(first.region->rkey(), second.region->rkey());
  EXPECT_NE(first.region->lkey(), second.region->lkey());
}

TEST_P(TransportBehaviour, RefusesToRegisterNothing) {
  const TestMemory memory{kib};
  const auto region = a_.domain->register_memory(memory.address(), 0, full_access);
  ASSERT_FALSE(region);
  EXPECT_EQ(region.error().code(), ErrorCode::invalid_argument);
}

TEST_P(TransportBehaviour, RefusesToRegisterARangeThatWraps) {
  const auto region = a_.domain->register_memory(std::numeric_limits<std::uint64_t>::max() - 100,
                                                 4096, full_access);
  ASSERT_FALSE(region);
  EXPECT_EQ(region.error().code(), ErrorCode::invalid_argument);
}

TEST_P(TransportBehaviour, RefusesToRegisterWhatIsNotMapped) {
  const TestMemory memory{mib};
  memory.vanish();
  const auto region = a_.domain->register_memory(memory.address(), mib, full_access);
  ASSERT_FALSE(region);
  EXPECT_EQ(region.error().code(), ErrorCode::registration_failed);
}

TEST_P(TransportBehaviour, RefusesAGuessedRkeyAndEndsBothSides) {
  connect();
  const auto local = registered(a_, kib);
  const auto remote = registered(b_, kib);
  local.memory.fill(1);
  auto request = put(local, remote);
  request.rkey ^= 1;
  EXPECT_EQ(carry_out(*a_.queue_pair, request), CompletionStatus::remote_access_error);
  EXPECT_EQ(a_.queue_pair->state(), QueuePairState::error);
  EXPECT_TRUE(comes_to_error(*b_.queue_pair));
  EXPECT_TRUE(remote.memory.is_untouched());
}

TEST_P(TransportBehaviour, RefusesTheRkeyOfAnotherDomain) {
  connect();
  End other;
  other.domain = transport_->open_domain(Side::b);
  const auto local = registered(a_, kib);
  const auto remote = registered(other, kib);
  local.memory.fill(1);
  EXPECT_EQ(carry_out(*a_.queue_pair, put(local, remote)), CompletionStatus::remote_access_error);
  EXPECT_TRUE(remote.memory.is_untouched());
}

TEST_P(TransportBehaviour, RefusesTheRkeyOfAReleasedRegion) {
  connect();
  const auto local = registered(a_, kib);
  const auto remote = registered(b_, kib);
  local.memory.fill(1);
  ASSERT_TRUE(remote.region->deregister());
  EXPECT_TRUE(remote.region->deregister());
  EXPECT_EQ(carry_out(*a_.queue_pair, put(local, remote)), CompletionStatus::remote_access_error);
  EXPECT_TRUE(remote.memory.is_untouched());
}

TEST_P(TransportBehaviour, RefusesARevokedRegion) {
  connect();
  const auto local = registered(a_, kib);
  const auto remote = registered(b_, kib);
  remote.region->revoke();
  EXPECT_EQ(carry_out(*a_.queue_pair, get(local, remote)), CompletionStatus::remote_access_error);
}

TEST_P(TransportBehaviour, RefusesWhatLiesOutsideTheRemoteRegion) {
  const auto local = registered(a_, kib);
  const auto remote = registered(b_, 8 * kib);
  local.memory.fill(1);
  const auto start = remote.region->remote_address();
  for (const auto address : {start - 1, start - kib, start + 7 * kib + 1, start + 8 * kib,
                             std::numeric_limits<std::uint64_t>::max() - 10}) {
    for (auto request : {put(local, remote), get(local, remote)}) {
      connect();
      request.remote_address = address;
      EXPECT_EQ(carry_out(*a_.queue_pair, request), CompletionStatus::remote_access_error)
          << address - start;
    }
  }
  EXPECT_TRUE(remote.memory.is_untouched());
  EXPECT_TRUE(local.memory.is_filled(1));
}

TEST_P(TransportBehaviour, RefusesToPutIntoAReadOnlyRegionAndEndsBothSides) {
  connect();
  const auto local = registered(a_, kib);
  const auto remote = registered(b_, kib, no_writing);
  local.memory.fill(1);
  EXPECT_EQ(carry_out(*a_.queue_pair, put(local, remote)), CompletionStatus::remote_access_error);
  EXPECT_EQ(a_.queue_pair->state(), QueuePairState::error);
  EXPECT_TRUE(comes_to_error(*b_.queue_pair));
  EXPECT_TRUE(remote.memory.is_untouched());
}

TEST_P(TransportBehaviour, RefusesToGetFromARegionThatAllowsNoReading) {
  connect();
  const auto local = registered(a_, kib);
  const auto remote = registered(b_, kib, no_reading);
  remote.memory.fill(1);
  EXPECT_EQ(carry_out(*a_.queue_pair, get(local, remote)), CompletionStatus::remote_access_error);
  EXPECT_TRUE(local.memory.is_untouched());
}

TEST_P(TransportBehaviour, AllowsWhatTheAccessFlagsAllow) {
  connect();
  const auto local = registered(a_, kib);
  const auto read_only = registered(b_, kib, no_writing);
  const auto write_only = registered(b_, kib, no_reading);
  EXPECT_EQ(carry_out(*a_.queue_pair, get(local, read_only)), CompletionStatus::success);
  EXPECT_EQ(carry_out(*a_.queue_pair, put(local, write_only)), CompletionStatus::success);
}

TEST_P(TransportBehaviour, RefusesAWrongLkey) {
  const auto local = registered(a_, kib);
  const auto remote = registered(b_, kib);
  local.memory.fill(1);
  for (auto request : {put(local, remote), get(local, remote)}) {
    connect();
    request.lkey ^= 1;
    EXPECT_EQ(carry_out(*a_.queue_pair, request), CompletionStatus::local_protection_error);
    EXPECT_EQ(a_.queue_pair->state(), QueuePairState::error);
  }
  EXPECT_TRUE(remote.memory.is_untouched());
}

TEST_P(TransportBehaviour, RefusesWhatLiesOutsideTheLocalRegion) {
  const auto local = registered(a_, kib);
  const auto remote = registered(b_, 8 * kib);
  for (auto request : {put(local, remote), get(local, remote)}) {
    connect();
    request.length = kib + 1;
    EXPECT_EQ(carry_out(*a_.queue_pair, request), CompletionStatus::local_protection_error);
  }
  EXPECT_TRUE(remote.memory.is_untouched());
}

TEST_P(TransportBehaviour, RefusesToGetIntoARegionWithoutLocalWriteAccess) {
  connect();
  const auto local = registered(a_, kib, AccessFlags::remote_read);
  const auto remote = registered(b_, kib);
  remote.memory.fill(1);
  EXPECT_EQ(carry_out(*a_.queue_pair, get(local, remote)),
            CompletionStatus::local_protection_error);
  EXPECT_TRUE(local.memory.is_untouched());
}

TEST_P(TransportBehaviour, KeepsOtherQueuePairsGoingWhenOneIsRefused) {
  connect();
  const auto bystander = std::move(a_.queue_pair);
  const auto bystanders_peer = std::move(b_.queue_pair);
  connect();
  const auto local = registered(a_, kib);
  const auto remote = registered(b_, kib);
  auto request = put(local, remote);
  request.rkey ^= 1;
  EXPECT_EQ(carry_out(*a_.queue_pair, request), CompletionStatus::remote_access_error);
  EXPECT_EQ(carry_out(*bystander, put(local, remote)), CompletionStatus::success);
}

}  // namespace
}  // namespace danaus::transport::testing
