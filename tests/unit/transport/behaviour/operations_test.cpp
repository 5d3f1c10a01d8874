// Puts and gets that succeed: contents, lengths, order, both directions.
#include <algorithm>

#include "tests/unit/transport/behaviour/behaviour_fixture.hpp"

namespace danaus::transport::testing {
namespace {

constexpr auto lengths = std::to_array<std::size_t>(
    {1, 7, 4095, 4096, 4097, 64 * kib, mib - 1, mib, mib + 1, 5 * mib + 3});

TEST_P(TransportBehaviour, PutsExactlyWhatWasAskedFor) {
  connect();
  for (const auto length : lengths) {
    const auto local = registered(a_, length);
    const auto remote = registered(b_, length + 2 * kib);
    local.memory.fill(1);
    auto request = put(local, remote);
    request.remote_address += kib;
    ASSERT_EQ(carry_out(*a_.queue_pair, request), CompletionStatus::success) << length;
    EXPECT_TRUE(remote.memory.is_filled(1, kib, length, kib)) << length;
    EXPECT_TRUE(remote.memory.is_untouched(0, kib)) << length;
    EXPECT_TRUE(remote.memory.is_untouched(kib + length, kib)) << length;
  }
}

TEST_P(TransportBehaviour, GetsExactlyWhatWasAskedFor) {
  connect();
  for (const auto length : lengths) {
    const auto local = registered(a_, length + 2 * kib);
    const auto remote = registered(b_, length);
    remote.memory.fill(2);
    auto request = get(local, remote);
    request.local_address += kib;
    request.length = length;
    ASSERT_EQ(carry_out(*a_.queue_pair, request), CompletionStatus::success) << length;
    EXPECT_TRUE(local.memory.is_filled(2, kib, length, kib)) << length;
    EXPECT_TRUE(local.memory.is_untouched(0, kib)) << length;
    EXPECT_TRUE(local.memory.is_untouched(kib + length, kib)) << length;
  }
}

TEST_P(TransportBehaviour, ReachesTheVeryEndsOfARegion) {
  connect();
  const auto local = registered(a_, 16);
  const auto remote = registered(b_, mib);
  local.memory.fill(3);
  auto request = put(local, remote);
  request.remote_address += mib - 16;
  EXPECT_EQ(carry_out(*a_.queue_pair, request), CompletionStatus::success);
  EXPECT_TRUE(remote.memory.is_filled(3, mib - 16, 16, mib - 16));
}

TEST_P(TransportBehaviour, CompletesWhatHasNoLength) {
  connect();
  const auto local = registered(a_, kib);
  const auto remote = registered(b_, kib);
  for (auto request : {put(local, remote), get(local, remote)}) {
    request.length = 0;
    EXPECT_EQ(carry_out(*a_.queue_pair, request), CompletionStatus::success);
    request.local_address += kib;
    request.remote_address += kib;
    EXPECT_EQ(carry_out(*a_.queue_pair, request), CompletionStatus::success);
  }
  EXPECT_TRUE(remote.memory.is_untouched());
}

TEST_P(TransportBehaviour, LooksAtNoKeyOfWhatHasNoLength) {
  connect();
  WorkRequest request;
  request.lkey = 1;
  request.rkey = 2;
  EXPECT_EQ(carry_out(*a_.queue_pair, request), CompletionStatus::success);
}

TEST_P(TransportBehaviour, ServesBothEndsOfOnePair) {
  connect();
  const auto at_a = registered(a_, mib);
  const auto at_b = registered(b_, mib);
  at_a.memory.fill(4);
  ASSERT_EQ(carry_out(*b_.queue_pair, get(at_b, at_a)), CompletionStatus::success);
  EXPECT_TRUE(at_b.memory.is_filled(4));
  at_b.memory.fill(5);
  ASSERT_EQ(carry_out(*b_.queue_pair, put(at_b, at_a)), CompletionStatus::success);
  EXPECT_TRUE(at_a.memory.is_filled(5));
}

TEST_P(TransportBehaviour, LoopsBackOnOneDevice) {
  const auto queue_pair = new_queue_pair(a_);
  ASSERT_TRUE(queue_pair->connect(queue_pair->endpoint().value()));
  const auto source = registered(a_, 3 * mib);
  const auto destination = registered(a_, 3 * mib);
  source.memory.fill(6);
  ASSERT_EQ(carry_out(*queue_pair, put(source, destination)), CompletionStatus::success);
  EXPECT_TRUE(destination.memory.is_filled(6));
  source.memory.fill(7);
  ASSERT_EQ(carry_out(*queue_pair, get(destination, source)), CompletionStatus::success);
  EXPECT_TRUE(destination.memory.is_filled(7));
}

TEST_P(TransportBehaviour, ConnectsTwoDomainsOfOneDevice) {
  End other;
  other.domain = transport_->open_domain(Side::a);
  const auto first = new_queue_pair(a_);
  const auto second = new_queue_pair(other);
  ASSERT_TRUE(first->connect(second->endpoint().value()));
  ASSERT_TRUE(second->connect(first->endpoint().value()));
  const auto local = registered(a_, mib);
  const auto remote = registered(other, mib);
  local.memory.fill(8);
  ASSERT_EQ(carry_out(*first, put(local, remote)), CompletionStatus::success);
  EXPECT_TRUE(remote.memory.is_filled(8));
}

TEST_P(TransportBehaviour, CompletesInTheOrderOfPosting) {
  connect();
  const auto local = registered(a_, mib);
  const auto remote = registered(b_, mib);
  constexpr std::uint64_t count = 300;
  std::vector<std::uint64_t> expected;
  for (std::uint64_t id = 1; id <= count; ++id) {
    auto request = id % 3 == 0 ? get(local, remote, id) : put(local, remote, id);
    request.length = id % 7 == 0 ? 0 : (id * 977) % (256 * kib);
    ASSERT_TRUE(a_.queue_pair->post(request));
    expected.push_back(id);
  }
  std::vector<std::uint64_t> completed;
  for (const auto& completion : next(*a_.queue_pair, count)) {
    EXPECT_EQ(completion.status, CompletionStatus::success);
    completed.push_back(completion.id);
  }
  EXPECT_EQ(completed, expected);
}

TEST_P(TransportBehaviour, ExecutesInTheOrderOfPosting) {
  connect();
  const auto first = registered(a_, mib);
  const auto second = registered(a_, mib);
  const auto back = registered(a_, mib);
  const auto remote = registered(b_, mib);
  first.memory.fill(9);
  second.memory.fill(10);
  ASSERT_TRUE(a_.queue_pair->post(put(first, remote, 1)));
  ASSERT_TRUE(a_.queue_pair->post(put(second, remote, 2)));
  ASSERT_TRUE(a_.queue_pair->post(get(back, remote, 3)));
  for (const auto& completion : next(*a_.queue_pair, 3)) {
    EXPECT_EQ(completion.status, CompletionStatus::success);
  }
  EXPECT_TRUE(back.memory.is_filled(10));
}

TEST_P(TransportBehaviour, PutsInBothDirectionsAtOnce) {
  connect();
  constexpr std::size_t length = 64 * mib;
  constexpr std::uint64_t count = 4;
  const auto from_a = registered_sparse(a_, length);
  const auto from_b = registered_sparse(b_, length);
  const auto to_a = registered_sparse(a_, length);
  const auto to_b = registered_sparse(b_, length);
  for (std::uint64_t id = 1; id <= count; ++id) {
    // Both ways fill both pipes: whoever only writes waits for ever.
    ASSERT_TRUE(a_.queue_pair->post(id % 2 == 0 ? get(from_a, to_b, id) : put(from_a, to_b, id)));
    ASSERT_TRUE(b_.queue_pair->post(id % 2 == 0 ? get(from_b, to_a, id) : put(from_b, to_a, id)));
  }
  for (auto* end : {&a_, &b_}) {
    for (const auto& completion : next(*end->queue_pair, count)) {
      EXPECT_EQ(completion.status, CompletionStatus::success);
    }
  }
}

TEST_P(TransportBehaviour, MovesAGibibyteMoreOrLess) {
  connect();
  for (const auto length : {gib - 1, gib}) {
    const auto local = registered_sparse(a_, length);
    const auto remote = registered_sparse(b_, length + 1);
    const auto page = 4 * kib;
    local.memory.fill(11, 0, page);
    local.memory.fill(12, length - page, page);
    ASSERT_EQ(carry_out(*a_.queue_pair, put(local, remote)), CompletionStatus::success) << length;
    EXPECT_TRUE(remote.memory.is_filled(11, 0, page, 0)) << length;
    EXPECT_TRUE(remote.memory.is_filled(12, length - page, page, length - page)) << length;
    EXPECT_TRUE(remote.memory.is_untouched(length, 1)) << length;

    remote.memory.fill(13, 0, page);
    remote.memory.fill(14, length - page, page);
    ASSERT_EQ(carry_out(*a_.queue_pair, get(local, remote)), CompletionStatus::success) << length;
    EXPECT_TRUE(local.memory.is_filled(13, 0, page, 0)) << length;
    EXPECT_TRUE(local.memory.is_filled(14, length - page, page, length - page)) << length;
  }
}

}  // namespace
}  // namespace danaus::transport::testing
