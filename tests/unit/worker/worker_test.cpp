// Two workers in one process: put, get, slices, handles, restart, errors.
#include "danaus/worker.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "messages/codec.hpp"
#include "test_workers.hpp"

namespace danaus {
namespace {

using ::testing::AllOf;
using testing::code_name;
using testing::config_of;
using testing::content;
using testing::error_of;
using testing::fill;
using ::testing::HasSubstr;
using testing::patience;
using testing::pattern;

class TwoWorkersTest : public ::testing::Test {
 protected:
  Worker a_{config_of("a")};
  Worker b_{config_of("b")};
};

TEST_F(TwoWorkersTest, PutWritesIntoThePeersMemory) {
  Buffer local = a_.allocate_buffer(100'000);
  Buffer target = b_.allocate_buffer(100'000);
  fill(local, pattern(100'000, 1));
  a_.put(local, target.remote(), patience);
  EXPECT_EQ(content(target), pattern(100'000, 1));
}

TEST_F(TwoWorkersTest, GetReadsThePeersMemory) {
  Buffer local = a_.allocate_buffer(100'000);
  Buffer source = b_.allocate_buffer(100'000);
  fill(source, pattern(100'000, 2));
  a_.get(local, source.remote(), patience);
  EXPECT_EQ(content(local), pattern(100'000, 2));
}

TEST_F(TwoWorkersTest, BothDirectionsShareOneQueuePair) {
  Buffer at_a = a_.allocate_buffer(64);
  Buffer at_b = b_.allocate_buffer(64);
  fill(at_a, pattern(64, 3));
  a_.put(at_a, at_b.remote(), patience);
  std::ranges::fill(at_a.memory(), std::byte{0});
  b_.put(at_b, at_a.remote(), patience);
  EXPECT_EQ(content(at_a), pattern(64, 3));
  const auto to_b = a_.queue_pair(at_b.remote(), patience).describe();
  const auto to_a = b_.queue_pair(at_a.remote(), patience).describe();
  EXPECT_EQ(to_b.qp_num, to_a.peer_qp_num);
  EXPECT_EQ(to_a.qp_num, to_b.peer_qp_num);
}

TEST_F(TwoWorkersTest, AWorkerReachesItsOwnBuffers) {
  Buffer from = a_.allocate_buffer(64);
  Buffer into = a_.allocate_buffer(64);
  fill(from, pattern(64, 4));
  a_.put(from, into.remote(), patience);
  EXPECT_EQ(content(into), pattern(64, 4));
}

TEST_F(TwoWorkersTest, RegistersMemoryOfTheCallers) {
  std::vector<std::byte> memory = pattern(5000, 5);
  Buffer registered = b_.register_buffer(memory);
  EXPECT_EQ(registered.memory().data(), memory.data());
  Buffer local = a_.allocate_buffer(5000);
  a_.get(local, registered.remote(), patience);
  EXPECT_EQ(content(local), memory);
}

TEST_F(TwoWorkersTest, SlicesOfBothSidesMoveTheBytesThatTheyName) {
  Buffer local = a_.allocate_buffer(100);
  Buffer remote = b_.allocate_buffer(100);
  fill(local, pattern(100, 6));
  fill(remote, pattern(100, 7));
  a_.put(local.slice(10, 20), remote.remote().slice(50, 20), patience);
  std::vector<std::byte> expected = pattern(100, 7);
  std::copy_n(pattern(100, 6).begin() + 10, 20, expected.begin() + 50);
  EXPECT_EQ(content(remote), expected);
}

TEST_F(TwoWorkersTest, ALargerDestinationKeepsItsTail) {
  Buffer small = a_.allocate_buffer(10);
  Buffer large = b_.allocate_buffer(30);
  fill(small, pattern(10, 8));
  fill(large, pattern(30, 9));
  a_.put(small, large.remote(), patience);
  std::vector<std::byte> expected = pattern(30, 9);
  std::ranges::copy(pattern(10, 8), expected.begin());
  EXPECT_EQ(content(large), expected);

  Buffer destination = b_.allocate_buffer(30);
  fill(destination, pattern(30, 10));
  b_.get(destination, small.remote(), patience);
  expected = pattern(30, 10);
  std::ranges::copy(pattern(10, 8), expected.begin());
  EXPECT_EQ(content(destination), expected);
}

TEST_F(TwoWorkersTest, ASmallerDestinationIsRefusedAndNothingMoves) {
  Buffer small = a_.allocate_buffer(10);
  Buffer large = b_.allocate_buffer(30);
  fill(small, pattern(10, 11));
  fill(large, pattern(30, 12));
  const Error get = error_of([&] { a_.get(small, large.remote(), patience); });
  const Error put = error_of([&] { b_.put(large, small.remote(), patience); });
  for (const Error& error : {get, put}) {
    EXPECT_EQ(code_name(error), "SizeMismatch");
    EXPECT_THAT(error.message(), AllOf(HasSubstr("30"), HasSubstr("10")));
  }
  EXPECT_EQ(content(small), pattern(10, 11));
}

TEST_F(TwoWorkersTest, NothingMovesWithoutComplaintEvenAtTheVeryEnd) {
  Buffer local = a_.allocate_buffer(10);
  Buffer remote = b_.allocate_buffer(10);
  EXPECT_NO_THROW(a_.put(local.slice(10, 0), remote.remote().slice(10, 0), patience));
  EXPECT_NO_THROW(a_.get(local.slice(0, 0), remote.remote().slice(0, 0), patience));
}

TEST_F(TwoWorkersTest, AHandleServesAfterSerialisation) {
  Buffer remote = b_.allocate_buffer(64);
  fill(remote, pattern(64, 13));
  const std::string bytes = remote.remote().serialize();
  Buffer local = a_.allocate_buffer(64);
  a_.get(local, RemoteBuffer::deserialize(bytes), patience);
  EXPECT_EQ(content(local), pattern(64, 13));
}

TEST_F(TwoWorkersTest, ANamedBufferIsFoundByItsName) {
  Buffer named = b_.allocate_buffer(64, "weights");
  const auto reply =
      a_.request(b_.ref(), messages::ServiceMessage{messages::LookupBuffer{"weights"}}, patience);
  ASSERT_TRUE(reply) << reply.error().message();
  const auto found = messages::decode<messages::RdmaBuffer>(*reply);
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, named.remote().wire());
}

TEST_F(TwoWorkersTest, AReleasedBufferIsOutOfReach) {
  Buffer local = a_.allocate_buffer(64);
  Buffer remote = b_.allocate_buffer(64);
  const RemoteBuffer handle = remote.remote();
  a_.put(local, handle, patience);
  remote.release();
  EXPECT_EQ(code_name(error_of([&] { a_.put(local, handle, patience); })), "RemoteAccessError");

  Buffer again = b_.allocate_buffer(64);
  fill(local, pattern(64, 14));
  a_.put(local, again.remote(), patience);
  EXPECT_EQ(content(again), pattern(64, 14)) << "the queue pair in ERR was replaced";
}

TEST_F(TwoWorkersTest, AGuessedKeyIsRefused) {
  Buffer local = a_.allocate_buffer(64);
  Buffer remote = b_.allocate_buffer(64);
  fill(remote, pattern(64, 15));
  messages::RdmaBuffer forged = remote.remote().wire();
  forged.rkey ^= 1;
  EXPECT_EQ(code_name(error_of([&] { a_.put(local, RemoteBuffer{forged}, patience); })),
            "RemoteAccessError");
  EXPECT_EQ(content(remote), pattern(64, 15));
}

TEST_F(TwoWorkersTest, ABufferOfAnotherWorkerIsRefused) {
  Buffer local = a_.allocate_buffer(64);
  Buffer remote = b_.allocate_buffer(64);
  const Error error = error_of([&] { b_.put(local, remote.remote(), patience); });
  EXPECT_EQ(code_name(error), "InvalidArgument");
  EXPECT_THAT(error.message(), HasSubstr("another worker"));
}

TEST_F(TwoWorkersTest, ABufferOfATransportThatIsNotHereIsAMismatch) {
  Buffer local = a_.allocate_buffer(64);
  messages::RdmaBuffer on_nic = b_.allocate_buffer(64).remote().wire();
  on_nic.transport = "verbs";
  on_nic.alternates.clear();
  EXPECT_EQ(code_name(error_of([&] { a_.put(local, RemoteBuffer{on_nic}, patience); })),
            "TransportMismatch");
  EXPECT_EQ(code_name(error_of(
                [&] { static_cast<void>(a_.queue_pair(RemoteBuffer{on_nic}, patience)); })),
            "TransportMismatch");
}

TEST_F(TwoWorkersTest, MovingABufferMovesTheDutyToRelease) {
  Buffer first = b_.allocate_buffer(64);
  const RemoteBuffer handle = first.remote();
  Buffer moved{std::move(first)};
  Buffer local = a_.allocate_buffer(64);
  EXPECT_NO_THROW(a_.put(local, handle, patience));
  moved = b_.allocate_buffer(32);
  EXPECT_EQ(moved.size(), 32U);
  EXPECT_EQ(code_name(error_of([&] { a_.put(local, handle, patience); })), "RemoteAccessError");
}

TEST_F(TwoWorkersTest, AnEmptyBufferObjectSaysSo) {
  Buffer buffer = b_.allocate_buffer(64);
  buffer.release();
  EXPECT_EQ(buffer.size(), 0U);
  EXPECT_TRUE(buffer.memory().empty());
  EXPECT_EQ(code_name(error_of([&] { buffer.release(); })), "NotFound");
  EXPECT_EQ(code_name(error_of([&] { static_cast<void>(buffer.remote()); })), "InvalidArgument");
  EXPECT_EQ(code_name(error_of([&] { static_cast<void>(buffer.slice(0, 0)); })), "InvalidArgument");
}

TEST_F(TwoWorkersTest, ABufferThatWasReleasedByMessageReportsThat) {
  Buffer buffer = b_.allocate_buffer(64);
  const auto reply = b_.request(
      b_.ref(), messages::ManagerMessage{messages::ReleaseBuffer{buffer.remote().wire()}},
      patience);
  ASSERT_TRUE(reply) << reply.error().message();
  EXPECT_EQ(code_name(error_of([&] { buffer.release(); })), "NotFound");
}

TEST_F(TwoWorkersTest, BadRegistrationsAreRefused) {
  EXPECT_EQ(code_name(error_of([&] { static_cast<void>(a_.allocate_buffer(0)); })),
            "InvalidArgument");
  EXPECT_EQ(code_name(error_of([&] { static_cast<void>(a_.register_buffer({})); })),
            "InvalidArgument");
  EXPECT_EQ(
      code_name(error_of([&] { static_cast<void>(a_.allocate_buffer(std::uint64_t{1} << 62U)); })),
      "ResourceExhausted");
}

TEST_F(TwoWorkersTest, ASparseBufferOfFiveGibibytesIsAsGoodAsASmallOne) {
  constexpr std::uint64_t size = std::uint64_t{5} << 30U;
  Buffer large = b_.allocate_buffer(size);
  Buffer local = a_.allocate_buffer(4096);
  fill(local, pattern(4096, 16));
  a_.put(local, large.remote().slice(size - 4096, 4096), patience);
  EXPECT_TRUE(std::ranges::equal(large.memory().last(4096), local.memory()));
}

TEST_F(TwoWorkersTest, AWorkerAnswersItsOwnRequests) {
  const auto reply =
      a_.request(a_.ref(), messages::ServiceMessage{messages::ListDevices{}}, patience);
  ASSERT_TRUE(reply) << reply.error().message();
  EXPECT_EQ(messages::decode<std::vector<messages::DeviceInfo>>(*reply).value(), a_.devices());
  EXPECT_EQ(a_.devices().front().name, "soft0");
}

TEST_F(TwoWorkersTest, ManyThreadsShareOneQueuePair) {
  constexpr unsigned threads = 8;
  constexpr unsigned rounds = 25;
  constexpr std::size_t share = 3000;
  Buffer local = a_.allocate_buffer(threads * share);
  Buffer remote = b_.allocate_buffer(threads * share);
  Buffer back = a_.allocate_buffer(threads * share);
  fill(local, pattern(threads * share, 17));
  std::vector<std::thread> runners;
  for (unsigned thread = 0; thread < threads; ++thread) {
    runners.emplace_back([&, offset = thread * share] {
      for (unsigned round = 0; round < rounds; ++round) {
        a_.put(local.slice(offset, share), remote.remote().slice(offset, share), patience);
        a_.get(back.slice(offset, share), remote.remote().slice(offset, share), patience);
      }
    });
  }
  for (std::thread& runner : runners) {
    runner.join();
  }
  EXPECT_EQ(content(back), content(local));
  const auto stats_reply =
      a_.request(a_.ref(), messages::ServiceMessage{messages::GetStats{}}, patience);
  ASSERT_TRUE(stats_reply);
  const auto stats = messages::decode<messages::Stats>(*stats_reply);
  ASSERT_TRUE(stats);
  EXPECT_EQ(stats->queue_pairs.size(), 1U);
}

TEST_F(TwoWorkersTest, APassiveWorkerPutsAndGets) {
  Worker passive{config_of("p", "")};
  EXPECT_EQ(passive.ref().at, "");
  Buffer local = passive.allocate_buffer(64);
  Buffer remote = b_.allocate_buffer(64);
  fill(local, pattern(64, 18));
  passive.put(local, remote.remote(), patience);
  EXPECT_EQ(content(remote), pattern(64, 18));
  std::ranges::fill(local.memory(), std::byte{0});
  passive.get(local, remote.remote(), patience);
  EXPECT_EQ(content(local), pattern(64, 18));
  const auto own =
      passive.request(passive.ref(), messages::ServiceMessage{messages::ListDevices{}}, patience);
  EXPECT_TRUE(own) << own.error().message();
}

TEST(WorkerRestart, OldHandlesAreStaleAndNewOnesServe) {
  Worker a{config_of("a")};
  Buffer local = a.allocate_buffer(64);
  fill(local, pattern(64, 19));
  auto b = std::make_unique<Worker>(config_of("b"));
  const std::string endpoint = b->ref().at;
  RemoteBuffer old = b->allocate_buffer(64).remote();
  {
    Buffer target = b->allocate_buffer(64);
    old = target.remote();
    a.put(local, old, patience);
  }
  b.reset();
  b = std::make_unique<Worker>(config_of("b", endpoint));
  EXPECT_EQ(code_name(error_of([&] { a.put(local, old, patience); })), "StalePeer");
  Buffer target = b->allocate_buffer(64);
  a.put(local, target.remote(), patience);
  EXPECT_EQ(content(target), pattern(64, 19));
  EXPECT_EQ(code_name(error_of([&] { a.put(local, old, patience); })), "StalePeer");
  a.put(local, target.remote(), patience);
}

TEST(WorkerRestart, AHandleOfOurOwnFormerLifeIsStale) {
  auto a = std::make_unique<Worker>(config_of("a"));
  const std::string endpoint = a->ref().at;
  const RemoteBuffer old = a->allocate_buffer(64).remote();
  a.reset();
  a = std::make_unique<Worker>(config_of("a", endpoint));
  Buffer local = a->allocate_buffer(64);
  EXPECT_EQ(code_name(error_of([&] { a->put(local, old, patience); })), "StalePeer");
}

TEST(WorkerAndDeadPeers, APeerThatIsGoneIsUnreachable) {
  Worker a{config_of("a")};
  Buffer local = a.allocate_buffer(64);
  auto b = std::make_unique<Worker>(config_of("b"));
  const RemoteBuffer remote = b->allocate_buffer(64).remote();
  b.reset();
  EXPECT_EQ(code_name(error_of([&] { a.put(local, remote, patience); })), "Unreachable");
}

}  // namespace
}  // namespace danaus
