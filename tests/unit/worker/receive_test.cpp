// Puts with immediate and receives of the public API.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <future>
#include <memory>
#include <vector>

#include "test_workers.hpp"

namespace danaus {
namespace {

using testing::code_name;
using testing::config_of;
using testing::content;
using testing::error_of;
using testing::fill;
using testing::patience;
using testing::pattern;
using namespace std::chrono_literals;

class ReceiveTest : public ::testing::Test {
 protected:
  QueuePair sender() { return a_.queue_pair(b_.ref(), "", "", patience); }
  QueuePair receiver() { return b_.queue_pair(a_.ref(), "", "", patience); }

  Worker a_{config_of("a")};
  Worker b_{config_of("b")};
  Buffer local_ = a_.allocate_buffer(64 * 1024);
  Buffer remote_ = b_.allocate_buffer(64 * 1024);
};

TEST_F(ReceiveTest, APutWithImmediateTellsItsPeerThatTheBytesAreThere) {
  fill(local_, pattern(local_.size(), 1));
  QueuePair here = sender();
  QueuePair there = receiver();
  auto received = std::async(std::launch::async, [&] { return there.receive(patience); });
  here.put_with_immediate(local_, remote_.remote(), 0xCAFE, patience);
  const Received what = received.get();
  EXPECT_EQ(what.immediate, 0xCAFEU);
  EXPECT_EQ(what.size, local_.size());
  EXPECT_EQ(content(remote_), pattern(local_.size(), 1));
}

TEST_F(ReceiveTest, APutWithImmediateWaitsForItsReceive) {
  QueuePair here = sender();
  QueuePair there = receiver();
  const auto id = here.post_put_with_immediate(local_.slice(0, 0), remote_.remote(), 1);
  EXPECT_TRUE(here.poll().empty());
  EXPECT_EQ(there.receive(patience).immediate, 1U);
  EXPECT_EQ(here.wait(id, patience).id, id);
}

TEST_F(ReceiveTest, APutWithImmediateThatNobodyReceivesTimesOut) {
  QueuePair here = sender();
  EXPECT_EQ(code_name(error_of(
                [&] { here.put_with_immediate(local_.slice(0, 8), remote_.remote(), 1, 50ms); })),
            "Timeout");
  EXPECT_NO_THROW(a_.put(local_, remote_.remote(), patience)) << "over a new queue pair";
}

TEST_F(ReceiveTest, AReceiveThatTimesOutLeavesItsQueuePairAndLosesNothing) {
  QueuePair here = sender();
  QueuePair there = receiver();
  EXPECT_EQ(code_name(error_of([&] { there.receive(1ms); })), "Timeout");
  here.put_with_immediate(local_.slice(0, 8), remote_.remote(), 7, patience);
  EXPECT_EQ(there.receive(patience).immediate, 7U);
}

TEST_F(ReceiveTest, PostedReceivesArePolledApartFromOperations) {
  QueuePair here = sender();
  QueuePair there = receiver();
  const auto receive = there.post_receive();
  const auto put = there.post_put(remote_.slice(0, 8), local_.remote());
  EXPECT_EQ(there.wait(put, patience).id, put) << "not kept waiting by the receive";
  here.put_with_immediate(local_.slice(0, 16), remote_.remote(), 3, patience);
  std::vector<Completion> completions;
  while (completions.empty()) {
    there.arm();
    completions = there.poll();
    pollfd ready{.fd = there.fd(), .events = POLLIN, .revents = 0};
    if (completions.empty() && ::poll(&ready, 1, static_cast<int>(patience.count())) != 1) {
      FAIL() << "the descriptor did not become readable";
    }
  }
  EXPECT_EQ(completions.front().id, receive);
  EXPECT_EQ(completions.front().received.immediate, 3U);
  EXPECT_EQ(completions.front().received.size, 16U);
}

TEST_F(ReceiveTest, APostedReceiveThatIsGivenUpKeepsNothingFromTheNext) {
  QueuePair here = sender();
  {
    QueuePair there = receiver();
    static_cast<void>(there.post_receive());
  }
  here.put_with_immediate(local_.slice(0, 8), remote_.remote(), 4, patience);
  EXPECT_EQ(receiver().receive(patience).immediate, 4U);
}

TEST_F(ReceiveTest, AReceiverPutsAndGetsMeanwhile) {
  QueuePair here = sender();
  QueuePair there = receiver();
  auto received = std::async(std::launch::async, [&] { return there.receive(patience); });
  fill(local_, pattern(local_.size(), 5));
  for (int i = 0; i < 20; ++i) {
    there.get(remote_, local_.remote(), patience);
  }
  EXPECT_EQ(content(remote_), pattern(local_.size(), 5));
  here.put_with_immediate(local_.slice(0, 8), remote_.remote(), 6, patience);
  EXPECT_EQ(received.get().immediate, 6U);
}

TEST_F(ReceiveTest, AReceiverLearnsThatItsPeerIsGone) {
  auto peer = std::make_unique<Worker>(config_of("c"));
  QueuePair here = b_.queue_pair(peer->ref(), "", "", patience);
  {
    const Buffer theirs = peer->allocate_buffer(8);
    here.put(remote_.slice(0, 8), theirs.remote(), patience);
  }
  auto received = std::async(std::launch::async, [&] {
    return code_name(error_of([&] { static_cast<void>(here.receive(patience)); }));
  });
  peer.reset();
  EXPECT_EQ(received.get(), "QueuePairReset");
}

}  // namespace
}  // namespace danaus
