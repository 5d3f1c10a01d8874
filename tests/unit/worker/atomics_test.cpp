// Atomics of the public API, on workers and on queue pairs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <thread>

#include "messages/codec.hpp"
#include "test_workers.hpp"

namespace danaus {
namespace {

using testing::code_name;
using testing::config_of;
using testing::error_of;
using testing::patience;

constexpr std::uint64_t highest = std::numeric_limits<std::uint64_t>::max();

class AtomicsTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::uint64_t word(std::size_t offset) const {
    std::uint64_t value = 0;
    std::memcpy(&value, counters_.memory().data() + offset, sizeof value);
    return value;
  }
  [[nodiscard]] RemoteBuffer remote() const { return counters_.remote(); }
  QueuePair connect() { return a_.queue_pair(remote(), patience); }

  Worker a_{config_of("a")};
  Worker b_{config_of("b")};
  Buffer counters_ = b_.allocate_buffer(64);
};

TEST_F(AtomicsTest, AWorkerAddsAndSwapsConnectingByItself) {
  EXPECT_EQ(a_.fetch_add(remote(), 8, 5, patience), 0U);
  EXPECT_EQ(a_.fetch_add(remote(), 8, highest, patience), 5U);
  EXPECT_EQ(a_.compare_swap(remote(), 8, 5, 9, patience), 4U) << "4 it was, so nothing is swapped";
  EXPECT_EQ(a_.compare_swap(remote(), 8, 4, 9, patience), 4U);
  EXPECT_EQ(word(8), 9U);
  EXPECT_EQ(word(0), 0U);
  EXPECT_EQ(word(16), 0U);
}

TEST_F(AtomicsTest, AQueuePairAddsAndSwaps) {
  QueuePair queue_pair = connect();
  EXPECT_EQ(queue_pair.fetch_add(remote(), 56, 3, patience), 0U);
  EXPECT_EQ(queue_pair.compare_swap(remote(), 56, 3, highest, patience), 3U);
  EXPECT_EQ(word(56), highest);
}

TEST_F(AtomicsTest, PostedAtomicsTellTheirValuesInOrder) {
  QueuePair queue_pair = connect();
  const auto first = queue_pair.post_fetch_add(remote(), 0, 1);
  const auto second = queue_pair.post_compare_swap(remote(), 0, 1, 50);
  const auto third = queue_pair.post_fetch_add(remote(), 0, 1);
  const auto last = queue_pair.wait(third, patience);
  EXPECT_EQ(last.id, third);
  EXPECT_EQ(last.value, 50U);
  const auto completions = queue_pair.poll();
  ASSERT_EQ(completions.size(), 2U);
  EXPECT_EQ(completions[0].id, first);
  EXPECT_EQ(completions[0].value, 0U);
  EXPECT_EQ(completions[1].id, second);
  EXPECT_EQ(completions[1].value, 1U);
}

TEST_F(AtomicsTest, FollowASliceToItsPlace) {
  EXPECT_EQ(a_.fetch_add(remote().slice(16, 16), 8, 7, patience), 0U);
  EXPECT_EQ(word(24), 7U);
}

TEST_F(AtomicsTest, RefuseWhatIsOutOfRangeOrNotAligned) {
  QueuePair queue_pair = connect();
  for (const std::uint64_t offset : {std::uint64_t{57}, std::uint64_t{64}, highest - 7}) {
    EXPECT_EQ(code_name(error_of([&] { a_.fetch_add(remote(), offset, 1, patience); })),
              "OutOfRange");
    EXPECT_EQ(
        code_name(error_of([&] { queue_pair.compare_swap(remote(), offset, 0, 1, patience); })),
        "OutOfRange");
  }
  EXPECT_EQ(code_name(error_of([&] { a_.fetch_add(remote(), 4, 1, patience); })),
            "InvalidArgument");
  EXPECT_EQ(
      code_name(error_of([&] { static_cast<void>(queue_pair.post_fetch_add(remote(), 12, 1)); })),
      "InvalidArgument");
  EXPECT_EQ(queue_pair.fetch_add(remote(), 0, 1, patience), 0U) << "nothing came of all that";
}

TEST_F(AtomicsTest, AreRefusedByAReadOnlyBuffer) {
  const Buffer read_only = b_.allocate_buffer(64, "", PeerAccess::read_only);
  EXPECT_EQ(code_name(error_of([&] { a_.fetch_add(read_only.remote(), 0, 1, patience); })),
            "RemoteAccessError");
  EXPECT_EQ(
      code_name(error_of([&] { connect().compare_swap(read_only.remote(), 0, 0, 1, patience); })),
      "RemoteAccessError");
  EXPECT_EQ(read_only.memory()[0], std::byte{0});
}

TEST_F(AtomicsTest, RefuseAHandleOfAnotherLife) {
  messages::RdmaBuffer old = remote().wire();
  old.incarnation.fill(std::byte{1});
  EXPECT_EQ(code_name(error_of([&] { a_.fetch_add(RemoteBuffer{old}, 0, 1, patience); })),
            "StalePeer");
  EXPECT_EQ(code_name(error_of([&] { connect().fetch_add(RemoteBuffer{old}, 0, 1, patience); })),
            "StalePeer");
}

TEST_F(AtomicsTest, WorkOnOnesOwnBuffer) {
  EXPECT_EQ(b_.fetch_add(remote(), 0, 2, patience), 0U);
  EXPECT_EQ(b_.fetch_add(remote(), 0, 2, patience), 2U);
}

TEST_F(AtomicsTest, OfManyThreadsAndWorkersAddUp) {
  Worker c{config_of("c")};
  constexpr std::uint64_t rounds = 200;
  std::vector<std::thread> threads;
  for (Worker* worker : {&a_, &a_, &b_, &b_, &c, &c}) {
    threads.emplace_back([&, worker] {
      for (std::uint64_t round = 0; round < rounds; ++round) {
        worker->fetch_add(remote(), 32, 1, patience);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(word(32), 6 * rounds);
}

TEST_F(AtomicsTest, AreCounted) {
  a_.fetch_add(remote(), 0, 1, patience);
  const auto reply = a_.request(b_.ref(), messages::ServiceMessage{messages::GetStats{}}, patience);
  ASSERT_TRUE(reply) << reply.error().message();
  const auto stats = messages::decode<messages::Stats>(*reply);
  ASSERT_TRUE(stats);
  EXPECT_EQ(stats->counters.at("soft.atomics"), 1U);
}

}  // namespace
}  // namespace danaus
