// QueuePair of the public API: post, poll, wait, descriptor; each object sees its own operations.
#include "danaus/queue_pair.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

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

constexpr std::uint32_t ready_to_send = 3;
constexpr std::uint32_t in_error = 6;

class QueuePairTest : public ::testing::Test {
 protected:
  QueuePair connect() { return a_.queue_pair(remote_.remote(), patience); }

  /// Sleeps on the descriptor as an event loop would, until `count` operations are over.
  static std::vector<Completion> await_completions(QueuePair& queue_pair, std::size_t count) {
    std::vector<Completion> all;
    while (all.size() < count) {
      queue_pair.arm();
      auto some = queue_pair.poll();
      if (some.empty()) {
        pollfd ready{.fd = queue_pair.fd(), .events = POLLIN, .revents = 0};
        if (::poll(&ready, 1, static_cast<int>(patience.count())) != 1) {
          ADD_FAILURE() << "the descriptor did not become readable";
          return all;
        }
      }
      std::ranges::move(some, std::back_inserter(all));
    }
    return all;
  }

  Worker a_{config_of("a")};
  Worker b_{config_of("b")};
  Buffer local_ = a_.allocate_buffer(64 * 1024);
  Buffer remote_ = b_.allocate_buffer(64 * 1024);
};

TEST_F(QueuePairTest, DescribesItself) {
  const QueuePair queue_pair = connect();
  const auto descriptor = queue_pair.describe();
  EXPECT_EQ(descriptor.transport, "soft");
  EXPECT_EQ(descriptor.self_device, "soft0");
  EXPECT_EQ(descriptor.other, b_.ref());
  EXPECT_EQ(descriptor.other_device, "soft0");
  EXPECT_EQ(descriptor.state, ready_to_send);
  EXPECT_NE(descriptor.qp_num, 0U);
  EXPECT_NE(descriptor.peer_qp_num, 0U);
  EXPECT_EQ(descriptor.incarnation, b_.incarnation());
  EXPECT_EQ(queue_pair.path(), "copy");
}

TEST_F(QueuePairTest, MayGetFromAReadOnlyBufferAndPutNothingIntoIt) {
  const Buffer local = a_.allocate_buffer(4096);
  const Buffer remote = b_.allocate_buffer(4096, "", PeerAccess::read_only);
  fill(local, pattern(4096, 1));
  fill(remote, pattern(4096, 2));
  EXPECT_EQ(
      code_name(error_of([&] { connect().put(local.slice(0, 4096), remote.remote(), patience); })),
      "RemoteAccessError");
  EXPECT_EQ(content(remote), pattern(4096, 2));
  connect().get(local.slice(0, 4096), remote.remote(), patience);
  EXPECT_EQ(content(local), pattern(4096, 2));
}

TEST_F(QueuePairTest, IsOneForAllWhoAskByBufferOrByDevice) {
  const auto number = connect().describe().qp_num;
  EXPECT_EQ(connect().describe().qp_num, number);
  EXPECT_EQ(a_.queue_pair(b_.ref(), "", "", patience).describe().qp_num, number);
  EXPECT_EQ(a_.queue_pair(b_.ref(), "soft0", "soft0", patience).describe().qp_num, number);
}

TEST_F(QueuePairTest, PutsAndGets) {
  QueuePair queue_pair = connect();
  fill(local_, pattern(local_.size(), 1));
  queue_pair.put(local_, remote_.remote(), patience);
  EXPECT_EQ(content(remote_), pattern(local_.size(), 1));
  std::ranges::fill(local_.memory(), std::byte{0});
  queue_pair.get(local_, remote_.remote(), patience);
  EXPECT_EQ(content(local_), pattern(local_.size(), 1));
}

TEST_F(QueuePairTest, TellsPostedOperationsInTheirOrder) {
  QueuePair queue_pair = connect();
  fill(local_, pattern(local_.size(), 2));
  constexpr std::size_t pieces = 16;
  constexpr std::size_t piece = 4096;
  std::vector<std::uint64_t> ids;
  for (std::size_t index = 0; index < pieces; ++index) {
    ids.push_back(queue_pair.post_put(local_.slice(index * piece, piece),
                                      remote_.remote().slice(index * piece, piece)));
  }
  const auto completions = await_completions(queue_pair, pieces);
  ASSERT_EQ(completions.size(), pieces);
  for (std::size_t index = 0; index < pieces; ++index) {
    EXPECT_EQ(completions[index].id, ids[index]);
    EXPECT_TRUE(completions[index].outcome) << completions[index].outcome.error().message();
  }
  EXPECT_EQ(content(remote_), pattern(local_.size(), 2));
  EXPECT_TRUE(queue_pair.poll().empty());
}

TEST_F(QueuePairTest, PollHandsOutNoMoreThanAskedFor) {
  QueuePair queue_pair = connect();
  const auto first = queue_pair.post_put(local_.slice(0, 8), remote_.remote());
  const auto second = queue_pair.post_put(local_.slice(8, 8), remote_.remote());
  const auto third = queue_pair.post_put(local_.slice(16, 8), remote_.remote());
  queue_pair.wait(third, patience);
  auto completions = queue_pair.poll(1);
  ASSERT_EQ(completions.size(), 1U);
  EXPECT_EQ(completions.front().id, first);
  completions = queue_pair.poll(1);
  ASSERT_EQ(completions.size(), 1U);
  EXPECT_EQ(completions.front().id, second);
}

TEST_F(QueuePairTest, EachObjectSeesItsOwnOperationsOnly) {
  QueuePair first = connect();
  QueuePair second = connect();
  const auto of_first = first.post_put(local_.slice(0, 8), remote_.remote());
  const auto of_second = second.post_get(local_.slice(8, 8), remote_.remote().slice(0, 8));
  EXPECT_EQ(code_name(error_of([&] { second.wait(of_first, patience); })), "NotFound");
  second.wait(of_second, patience);
  EXPECT_TRUE(second.poll().empty());
  EXPECT_EQ(await_completions(first, 1).front().id, of_first);
}

TEST_F(QueuePairTest, WaitTakesACompletionOnce) {
  QueuePair queue_pair = connect();
  const auto id = queue_pair.post_get(local_, remote_.remote());
  queue_pair.wait(id, patience);
  EXPECT_EQ(code_name(error_of([&] { queue_pair.wait(id, patience); })), "NotFound");
}

TEST_F(QueuePairTest, FailsInErrorAndIsReplacedAtTheNextRequest) {
  QueuePair queue_pair = connect();
  messages::RdmaBuffer forged = remote_.remote().wire();
  forged.rkey ^= 1;
  const auto id = queue_pair.post_put(local_, RemoteBuffer{forged});
  EXPECT_EQ(code_name(error_of([&] { queue_pair.wait(id, patience); })), "RemoteAccessError");
  EXPECT_EQ(queue_pair.describe().state, in_error);
  EXPECT_EQ(code_name(error_of([&] { queue_pair.put(local_, remote_.remote(), patience); })),
            "InvalidQueuePairState");
  QueuePair fresh = connect();
  EXPECT_NE(fresh.describe().qp_num, queue_pair.describe().qp_num);
  EXPECT_NO_THROW(fresh.put(local_, remote_.remote(), patience));
}

TEST_F(QueuePairTest, RefusesABufferOfSomeoneElse) {
  QueuePair queue_pair = connect();
  Buffer own = a_.allocate_buffer(64);
  const Error error = error_of([&] { queue_pair.put(own, own.remote(), patience); });
  EXPECT_EQ(code_name(error), "InvalidArgument");
}

TEST_F(QueuePairTest, RefusesAHandleOfAnotherLifeOfItsPeer) {
  QueuePair queue_pair = connect();
  messages::RdmaBuffer old = remote_.remote().wire();
  old.incarnation.fill(std::byte{1});
  EXPECT_EQ(code_name(error_of(
                [&] { static_cast<void>(queue_pair.post_put(local_, RemoteBuffer{old})); })),
            "StalePeer");
}

TEST_F(QueuePairTest, MayGoWithOperationsOutstanding) {
  {
    QueuePair queue_pair = connect();
    for (int count = 0; count < 100; ++count) {
      static_cast<void>(queue_pair.post_put(local_, remote_.remote()));
    }
  }
  EXPECT_NO_THROW(a_.put(local_, remote_.remote(), patience));
}

TEST_F(QueuePairTest, UnknownDevicesAreNamedWithThoseThatExist) {
  const Error error =
      error_of([&] { static_cast<void>(a_.queue_pair(b_.ref(), "mlx5_9", "", patience)); });
  EXPECT_EQ(code_name(error), "UnknownDevice");
  EXPECT_THAT(error.message(), ::testing::HasSubstr("soft0"));
}

}  // namespace
}  // namespace danaus
