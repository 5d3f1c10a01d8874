// Atomics: what they return and leave behind, what is refused, and that they exclude each other.
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

#include "tests/unit/transport/behaviour/behaviour_fixture.hpp"

namespace danaus::transport::testing {
namespace {

constexpr std::uint64_t highest = std::numeric_limits<std::uint64_t>::max();

std::uint64_t word(const Registered& of, std::size_t offset = 0) {
  std::uint64_t value = 0;
  std::memcpy(&value, of.memory.bytes().data() + offset, sizeof value);
  return value;
}

void set_word(const Registered& of, std::uint64_t value, std::size_t offset = 0) {
  std::memcpy(of.memory.bytes().data() + offset, &value, sizeof value);
}

WorkRequest atomic(Opcode opcode, const Registered& result, const Registered& remote) {
  return {.id = 1,
          .opcode = opcode,
          .local_address = result.memory.address(),
          .lkey = result.region->lkey(),
          .remote_address = remote.region->remote_address(),
          .rkey = remote.region->rkey(),
          .length = atomic_length};
}

WorkRequest fetch_add(const Registered& result, const Registered& remote, std::uint64_t value) {
  auto request = atomic(Opcode::atomic_fetch_and_add, result, remote);
  request.compare_add = value;
  return request;
}

WorkRequest compare_swap(const Registered& result, const Registered& remote, std::uint64_t expected,
                         std::uint64_t desired) {
  auto request = atomic(Opcode::atomic_compare_and_swap, result, remote);
  request.compare_add = expected;
  request.swap = desired;
  return request;
}

TEST_P(TransportBehaviour, AFetchAddReturnsWhatWasThereAndLeavesTheSum) {
  connect();
  const auto result = registered(a_, kib);
  const auto remote = registered(b_, kib);
  set_word(remote, 40);
  EXPECT_EQ(carry_out(*a_.queue_pair, fetch_add(result, remote, 2)), CompletionStatus::success);
  EXPECT_EQ(word(result), 40U);
  EXPECT_EQ(word(remote), 42U);
  EXPECT_TRUE(result.memory.is_untouched(atomic_length, kib - atomic_length));
  EXPECT_TRUE(remote.memory.is_untouched(atomic_length, kib - atomic_length));
}

TEST_P(TransportBehaviour, AFetchAddWrapsAround) {
  connect();
  const auto result = registered(a_, kib);
  const auto remote = registered(b_, kib);
  set_word(remote, highest);
  EXPECT_EQ(carry_out(*a_.queue_pair, fetch_add(result, remote, 3)), CompletionStatus::success);
  EXPECT_EQ(word(result), highest);
  EXPECT_EQ(word(remote), 2U);
}

TEST_P(TransportBehaviour, ACompareSwapReplacesWhatIsAsExpected) {
  connect();
  const auto result = registered(a_, kib);
  const auto remote = registered(b_, kib);
  set_word(remote, 7);
  EXPECT_EQ(carry_out(*a_.queue_pair, compare_swap(result, remote, 7, highest)),
            CompletionStatus::success);
  EXPECT_EQ(word(result), 7U);
  EXPECT_EQ(word(remote), highest);
}

TEST_P(TransportBehaviour, ACompareSwapLeavesWhatIsNotAsExpectedAndSaysWhatItIs) {
  connect();
  const auto result = registered(a_, kib);
  const auto remote = registered(b_, kib);
  set_word(remote, 7);
  EXPECT_EQ(carry_out(*a_.queue_pair, compare_swap(result, remote, 8, 9)),
            CompletionStatus::success);
  EXPECT_EQ(word(result), 7U);
  EXPECT_EQ(word(remote), 7U);
}

TEST_P(TransportBehaviour, AnAtomicsCompletionSaysWhatItWas) {
  connect();
  const auto result = registered(a_, kib);
  const auto remote = registered(b_, kib);
  ASSERT_TRUE(a_.queue_pair->post(fetch_add(result, remote, 1)));
  EXPECT_EQ(next(*a_.queue_pair).opcode, CompletionOpcode::fetch_and_add);
  ASSERT_TRUE(a_.queue_pair->post(compare_swap(result, remote, 1, 1)));
  EXPECT_EQ(next(*a_.queue_pair).opcode, CompletionOpcode::compare_and_swap);
}

TEST_P(TransportBehaviour, RefusesToPostAnAtomicOfAWrongForm) {
  connect();
  const auto result = registered(a_, kib);
  const auto remote = registered(b_, kib);
  for (auto request : {fetch_add(result, remote, 1), compare_swap(result, remote, 0, 1)}) {
    for (const std::uint64_t length : {0U, 4U, 7U, 9U, 16U}) {
      request.length = length;
      const auto posted = a_.queue_pair->post(request);
      ASSERT_FALSE(posted) << length;
      EXPECT_EQ(posted.error().code(), ErrorCode::invalid_argument);
    }
    request.length = atomic_length;
    for (const std::uint64_t offset : {1U, 4U, 7U}) {
      request.remote_address = remote.region->remote_address() + offset;
      const auto posted = a_.queue_pair->post(request);
      ASSERT_FALSE(posted) << offset;
      EXPECT_EQ(posted.error().code(), ErrorCode::invalid_argument);
    }
  }
  EXPECT_EQ(a_.queue_pair->state(), QueuePairState::ready_to_send);
  EXPECT_TRUE(remote.memory.is_untouched());
}

TEST_P(TransportBehaviour, WritesAnAtomicsResultWhereItIsNotAligned) {
  connect();
  const auto result = registered(a_, kib);
  const auto remote = registered(b_, kib);
  set_word(remote, highest);
  auto request = fetch_add(result, remote, 1);
  request.local_address += 5;
  EXPECT_EQ(carry_out(*a_.queue_pair, request), CompletionStatus::success);
  EXPECT_EQ(word(result, 5), highest);
}

TEST_P(TransportBehaviour, RefusesAnAtomicOutsideTheRemoteRegion) {
  const auto result = registered(a_, kib);
  const auto remote = registered(b_, kib);
  for (const std::uint64_t offset : {std::uint64_t{kib}, -std::uint64_t{8}, std::uint64_t{gib}}) {
    connect();
    auto request = fetch_add(result, remote, 1);
    request.remote_address += offset;
    EXPECT_EQ(carry_out(*a_.queue_pair, request), CompletionStatus::remote_access_error) << offset;
  }
  EXPECT_TRUE(remote.memory.is_untouched());
  EXPECT_TRUE(result.memory.is_untouched());
}

TEST_P(TransportBehaviour, RefusesAnAtomicWithoutTheRightToItAndEndsBothSides) {
  constexpr auto no_atomics =
      AccessFlags::local_write | AccessFlags::remote_write | AccessFlags::remote_read;
  const auto result = registered(a_, kib);
  const auto remote = registered(b_, kib, no_atomics);
  for (const auto& request : {fetch_add(result, remote, 1), compare_swap(result, remote, 0, 1)}) {
    connect();
    EXPECT_EQ(carry_out(*a_.queue_pair, request), CompletionStatus::remote_access_error);
    EXPECT_EQ(a_.queue_pair->state(), QueuePairState::error);
    EXPECT_TRUE(comes_to_error(*b_.queue_pair));
  }
  EXPECT_TRUE(remote.memory.is_untouched());
}

TEST_P(TransportBehaviour, RefusesAnAtomicOnARevokedRegion) {
  connect();
  const auto result = registered(a_, kib);
  const auto remote = registered(b_, kib);
  remote.region->revoke();
  EXPECT_EQ(carry_out(*a_.queue_pair, fetch_add(result, remote, 1)),
            CompletionStatus::remote_access_error);
  EXPECT_TRUE(remote.memory.is_untouched());
}

TEST_P(TransportBehaviour, RefusesAnAtomicWhoseResultMayNotBeWritten) {
  const auto read_only = registered(a_, kib, AccessFlags::remote_read);
  const auto small = registered(a_, 4);
  const auto remote = registered(b_, kib);
  for (const auto* result : {&read_only, &small}) {
    connect();
    EXPECT_EQ(carry_out(*a_.queue_pair, fetch_add(*result, remote, 1)),
              CompletionStatus::local_protection_error);
  }
  EXPECT_TRUE(remote.memory.is_untouched());
}

TEST_P(TransportBehaviour, ReportsAnAtomicOnMemoryThatVanished) {
  connect();
  const auto result = registered(a_, kib);
  const auto remote = registered(b_, kib);
  remote.memory.vanish();
  EXPECT_EQ(carry_out(*a_.queue_pair, fetch_add(result, remote, 1)),
            CompletionStatus::remote_operation_error);
  EXPECT_TRUE(result.memory.is_untouched());
}

TEST_P(TransportBehaviour, ReportsAnAtomicWhoseResultHasNowhereToGo) {
  connect();
  const auto result = registered(a_, kib);
  const auto remote = registered(b_, kib);
  result.memory.vanish();
  EXPECT_EQ(carry_out(*a_.queue_pair, fetch_add(result, remote, 1)),
            CompletionStatus::local_protection_error);
}

TEST_P(TransportBehaviour, AtomicsGoOnAfterOneMetMemoryThatVanished) {
  const auto result = registered(a_, kib);
  const auto gone = registered(b_, kib);
  gone.memory.vanish();
  // As many words as there may be locks, so that one that was left in a bad state is met again.
  const auto remote = registered(b_, kib);
  for (std::size_t offset = 0; offset < kib; offset += atomic_length) {
    connect();
    auto lost = fetch_add(result, gone, 1);
    lost.remote_address += offset;
    EXPECT_EQ(carry_out(*a_.queue_pair, lost), CompletionStatus::remote_operation_error);
    connect();
    auto request = fetch_add(result, remote, offset + 1);
    request.remote_address += offset;
    ASSERT_EQ(carry_out(*a_.queue_pair, request), CompletionStatus::success);
    EXPECT_EQ(word(result), 0U);
    EXPECT_EQ(word(remote, offset), offset + 1);
  }
}

TEST_P(TransportBehaviour, AnAtomicFollowsThePutsBeforeItAndPrecedesTheGetsBehindIt) {
  connect();
  const auto source = registered(a_, mib);
  const auto result = registered(a_, atomic_length);
  const auto copy = registered(a_, mib);
  const auto remote = registered(b_, mib);
  set_word(source, 100);
  ASSERT_TRUE(a_.queue_pair->post(put(source, remote, 1)));
  ASSERT_TRUE(a_.queue_pair->post(fetch_add(result, remote, 11)));
  ASSERT_TRUE(a_.queue_pair->post(get(copy, remote, 3)));
  for (const auto& completion : next(*a_.queue_pair, 3)) {
    EXPECT_EQ(completion.status, CompletionStatus::success);
  }
  EXPECT_EQ(word(result), 100U);
  EXPECT_EQ(word(copy), 111U);
}

TEST_P(TransportBehaviour, ConcurrentFetchAddsFromManyQueuePairsAddUp) {
  constexpr std::uint64_t callers = 8;
  constexpr std::uint64_t rounds = 400;
  const auto remote = registered(b_, kib);
  std::vector<End> ends;
  for (std::uint64_t i = 0; i < callers; ++i) {
    connect();
    ends.push_back({nullptr, std::move(a_.queue_pair)});
    ends.push_back({nullptr, std::move(b_.queue_pair)});
  }
  std::vector<Registered> results;
  for (std::uint64_t i = 0; i < callers; ++i) {
    results.push_back(registered(a_, kib));
  }
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < callers; ++i) {
    threads.emplace_back([&, i] {
      for (std::uint64_t round = 0; round < rounds; ++round) {
        EXPECT_EQ(carry_out(*ends[2 * i].queue_pair, fetch_add(results[i], remote, i + 1)),
                  CompletionStatus::success);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(word(remote), rounds * callers * (callers + 1) / 2);
}

TEST_P(TransportBehaviour, OfConcurrentCompareSwapsOneWins) {
  constexpr std::uint64_t callers = 6;
  const auto remote = registered(b_, kib);
  const auto result = registered(a_, kib);
  std::vector<End> ends;
  for (std::uint64_t i = 0; i < callers; ++i) {
    connect();
    ends.push_back({nullptr, std::move(a_.queue_pair)});
    ends.push_back({nullptr, std::move(b_.queue_pair)});
  }
  for (std::uint64_t i = 0; i < callers; ++i) {
    auto request = compare_swap(result, remote, 0, i + 1);
    request.local_address += i * atomic_length;
    ASSERT_TRUE(ends[2 * i].queue_pair->post(request));
  }
  std::uint64_t winners = 0;
  for (std::uint64_t i = 0; i < callers; ++i) {
    EXPECT_EQ(next(*ends[2 * i].queue_pair).status, CompletionStatus::success);
    winners += word(result, i * atomic_length) == 0 ? 1U : 0U;
  }
  EXPECT_EQ(winners, 1U);
}

}  // namespace
}  // namespace danaus::transport::testing
