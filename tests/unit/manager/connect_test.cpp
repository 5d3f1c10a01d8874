// Connecting, one side active: who shares what, what a failure leaves, when a queue pair is
// replaced.
#include <gtest/gtest.h>

#include "tests/unit/manager/harness.hpp"

namespace danaus::manager::testing {
namespace {

using messages::ConnectPeer;
using transport::QueuePairState;

class Connecting : public ::testing::Test {
 protected:
  Connecting() {
    net.start("a");
    net.start("b");
  }
  Later<QueuePairHandle> connect(const std::string& from, const std::string& to) {
    const auto handle = net.queue_pair(from, Net::ref(to));
    net.drive_until([&] { return handle.ready(); });
    return handle;
  }
  Net net;
};

TEST_F(Connecting, TakesOneRoundTripAndConnectsBothEnds) {
  const auto handle = net.queue_pair("a", Net::ref("b"));
  EXPECT_EQ(net.waiting({"a", "b"}), (std::vector<std::string>{"ConnectPeer"}));
  net.deliver({"a", "b"});
  net.deliver({"b", "a"});
  ASSERT_TRUE(handle.ready());
  ASSERT_TRUE(handle.get()) << handle.message();
  EXPECT_EQ(handle.value().descriptor.state, 3U);
  EXPECT_EQ(handle.value().descriptor.transport, "soft");
  EXPECT_EQ(handle.value().descriptor.other, Net::ref("b"));
  EXPECT_EQ(handle.value().descriptor.incarnation, net.incarnation("b"));
  EXPECT_EQ(net.waiting({"a", "b"}), (std::vector<std::string>{"PeerReady"}));
  net.drive();
  EXPECT_TRUE(net.connected("a", "b"));
}

TEST_F(Connecting, AHundredCallersShareOneConnection) {
  std::vector<Later<QueuePairHandle>> handles;
  for (int i = 0; i < 100; ++i) {
    handles.push_back(net.queue_pair("a", Net::ref("b")));
  }
  net.drive();
  for (const auto& handle : handles) {
    ASSERT_TRUE(handle.ready());
    ASSERT_TRUE(handle.get()) << handle.message();
    EXPECT_EQ(handle.value().operations, handles[0].value().operations);
  }
  EXPECT_EQ(net.sent("ConnectPeer"), 1);
  EXPECT_EQ(net.fabric().queue_pairs_created, 2);
}

TEST_F(Connecting, AHundredCallersShareOneFailure) {
  net.fabric().refuses_queue_pairs = {"far"};
  net.start("b", {Net::device("far", "soft")});
  std::vector<Later<QueuePairHandle>> handles;
  for (int i = 0; i < 100; ++i) {
    handles.push_back(net.queue_pair("a", Net::ref("b"), {}, "soft0", "far"));
  }
  net.drive();
  for (const auto& handle : handles) {
    ASSERT_TRUE(handle.ready());
    EXPECT_EQ(handle.code(), ErrorCode::resource_exhausted);
  }
  EXPECT_EQ(net.sent("ConnectPeer"), 1);
}

TEST_F(Connecting, AFailureLeavesNothingBehindAndTheNextRequestTriesAgain) {
  net.lose("ConnectPeer");
  const auto failed = connect("a", "b");
  EXPECT_EQ(failed.code(), ErrorCode::peer_lost);
  net.drive();
  EXPECT_TRUE(net.fabric().queue_pairs.empty());
  EXPECT_TRUE(net.stats("a").queue_pairs.empty());
  net.stop_losing();
  EXPECT_TRUE(connect("a", "b").get());
  EXPECT_TRUE(net.connected("a", "b"));
}

TEST_F(Connecting, AReplyThatIsLostIsAbandonedAtThePeerToo) {
  const auto handle = net.queue_pair("a", Net::ref("b"));
  net.deliver({"a", "b"}, Fate::reply_lost);
  net.deliver({"b", "a"});
  ASSERT_TRUE(handle.ready());
  EXPECT_EQ(handle.code(), ErrorCode::peer_lost);
  EXPECT_EQ(net.stats("b").queue_pairs.size(), 1U);
  net.drive();
  EXPECT_EQ(net.sent("AbandonPeer"), 1);
  EXPECT_TRUE(net.fabric().queue_pairs.empty());
}

TEST_F(Connecting, AReplyThatComesTooLateIsAbandonedToo) {
  const auto handle = net.queue_pair("a", Net::ref("b"), {}, "soft0", "soft0", 20ms);
  net.wait_until([&] { return handle.ready(); });
  EXPECT_EQ(handle.code(), ErrorCode::timeout);
  EXPECT_TRUE(net.fabric().queue_pairs.empty());
  net.drive();
  EXPECT_TRUE(net.stats("b").queue_pairs.empty());
  EXPECT_TRUE(net.fabric().queue_pairs.empty());
}

TEST_F(Connecting, ACallerWithMoreTimeOutlivesOneWithLess) {
  const auto hurried = net.queue_pair("a", Net::ref("b"), {}, "soft0", "soft0", 20ms);
  const auto patient = net.queue_pair("a", Net::ref("b"), {}, "soft0", "soft0", 5s);
  net.wait_until([&] { return hurried.ready(); });
  EXPECT_EQ(hurried.code(), ErrorCode::timeout);
  EXPECT_FALSE(patient.ready());
  net.drive_until([&] { return patient.ready(); });
  EXPECT_TRUE(patient.get()) << patient.message();
  net.drive();
  EXPECT_TRUE(net.connected("a", "b"));
}

TEST_F(Connecting, ACallerWithLessTimeDoesNotEndTheAttemptOfOneWithMore) {
  const auto patient = net.queue_pair("a", Net::ref("b"), {}, "soft0", "soft0", 5s);
  const auto hurried = net.queue_pair("a", Net::ref("b"), {}, "soft0", "soft0", 20ms);
  net.wait_until([&] { return hurried.ready(); });
  EXPECT_EQ(hurried.code(), ErrorCode::timeout);
  net.drive();
  ASSERT_TRUE(patient.ready());
  EXPECT_TRUE(patient.get());
  EXPECT_EQ(net.sent("ConnectPeer"), 1);
}

TEST_F(Connecting, BothSidesUseTheSameQueuePair) {
  ASSERT_TRUE(connect("a", "b").get());
  net.drive();
  const auto back = connect("b", "a");
  ASSERT_TRUE(back.get());
  EXPECT_EQ(net.sent("ConnectPeer"), 1);
  EXPECT_EQ(net.fabric().queue_pairs.size(), 2U);
}

TEST_F(Connecting, ThePassiveSideWaitsForPeerReady) {
  const auto active = net.queue_pair("a", Net::ref("b"));
  net.deliver({"a", "b"});
  const auto passive = net.queue_pair("b", Net::ref("a"));
  EXPECT_FALSE(passive.ready());
  net.deliver({"b", "a"});
  ASSERT_TRUE(active.ready());
  EXPECT_FALSE(passive.ready());
  net.deliver({"a", "b"});
  ASSERT_TRUE(passive.ready());
  EXPECT_TRUE(passive.get());
  EXPECT_EQ(net.sent("ConnectPeer"), 1);
}

TEST_F(Connecting, WithoutPeerReadyThePassiveSideAsksForItself) {
  net.lose("PeerReady");
  ASSERT_TRUE(connect("a", "b").get());
  const auto passive = connect("b", "a");
  ASSERT_TRUE(passive.get()) << passive.message();
  EXPECT_EQ(net.sent("ConnectPeer"), 2);
  net.drive();
  EXPECT_TRUE(net.connected("a", "b"));
  EXPECT_EQ(net.fabric().queue_pairs_created, 2) << "the queue pairs that were there serve";
}

TEST_F(Connecting, AQueuePairInErrorIsReplacedNeverHandedOut) {
  const auto first = connect("a", "b");
  net.drive();
  net.break_queue_pair(first.value().descriptor.qp_num);
  const auto second = connect("a", "b");
  ASSERT_TRUE(second.get()) << second.message();
  EXPECT_NE(second.value().descriptor.qp_num, first.value().descriptor.qp_num);
  EXPECT_EQ(second.value().operations->queue_pair().state(), QueuePairState::ready_to_send);
  net.drive();
  EXPECT_TRUE(net.connected("a", "b"));
  EXPECT_GE(net.counter("a", "manager.queue_pairs_replaced"), 1U);
}

TEST_F(Connecting, AQueuePairInErrorAtThePeerIsReplacedToo) {
  const auto first = connect("a", "b");
  net.drive();
  net.break_queue_pair(first.value().descriptor.peer_qp_num);
  const auto from_b = connect("b", "a");
  ASSERT_TRUE(from_b.get()) << from_b.message();
  net.drive();
  EXPECT_TRUE(net.connected("a", "b"));
  EXPECT_EQ(first.value().operations->queue_pair().state(), QueuePairState::error)
      << "holders of the old one see it end";
}

TEST_F(Connecting, ARetiredQueuePairLivesUntilItsLastHolderLetsGo) {
  auto first = std::make_unique<Later<QueuePairHandle>>(connect("a", "b"));
  net.drive();
  const std::uint32_t number = first->value().descriptor.qp_num;
  net.break_queue_pair(number);
  ASSERT_TRUE(connect("a", "b").get());
  net.drive();
  EXPECT_TRUE(net.fabric().queue_pairs.contains(number));
  first.reset();
  EXPECT_FALSE(net.fabric().queue_pairs.contains(number));
}

TEST_F(Connecting, AStaleAttemptIsSuperseded) {
  ASSERT_TRUE(connect("a", "b").get());
  net.drive();
  ConnectPeer stale{.self_device = "soft0",
                    .other_device = "soft0",
                    .transport = "soft",
                    .attempt = 1,
                    .endpoint = {}};
  stale.endpoint.qp_num = 7;
  const auto answer = net.ask("a", "b", stale);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), ErrorCode::superseded);
  EXPECT_TRUE(net.connected("a", "b"));
}

TEST_F(Connecting, ABadEndpointCostsNobodyAQueuePair) {
  ASSERT_TRUE(connect("a", "b").get());
  net.drive();
  const ConnectPeer bad{.self_device = "soft0",
                        .other_device = "soft0",
                        .transport = "soft",
                        .attempt = ~0ULL,
                        .endpoint = {}};
  EXPECT_FALSE(net.ask("a", "b", bad));
  EXPECT_TRUE(net.connected("a", "b"));
}

TEST_F(Connecting, AnUnknownDeviceIsAnErrorThatListsTheDevices) {
  const auto own = net.queue_pair("a", Net::ref("b"), {}, "mlx5_0", "soft0");
  ASSERT_TRUE(own.ready());
  EXPECT_EQ(own.code(), ErrorCode::unknown_device);
  EXPECT_NE(own.message().find("soft0"), std::string::npos);
  const auto theirs = net.queue_pair("a", Net::ref("b"), {}, "soft0", "mlx5_0");
  net.drive();
  ASSERT_TRUE(theirs.ready());
  EXPECT_EQ(theirs.code(), ErrorCode::unknown_device);
  EXPECT_NE(theirs.message().find("soft0"), std::string::npos);
  EXPECT_EQ(net.fabric().domains_opened, 1) << "no other device is opened in its place";
  EXPECT_TRUE(net.fabric().queue_pairs.empty());
}

TEST_F(Connecting, DevicesOfTwoTransportsDoNotMatch) {
  net.start("b", {Net::device("mlx5_0", "verbs")});
  const auto handle = net.queue_pair("a", Net::ref("b"), {}, "soft0", "mlx5_0");
  net.drive();
  EXPECT_EQ(handle.code(), ErrorCode::transport_mismatch);
  const auto chosen = net.queue_pair("a", Net::ref("b"), {}, "", "");
  net.drive();
  EXPECT_EQ(chosen.code(), ErrorCode::transport_mismatch);
}

TEST_F(Connecting, WithoutNamesTheTwoAgreeOnWhatBothHave) {
  net.start("c", {Net::device("mlx5_0", "verbs"), Net::device("soft0", "soft")});
  const auto handle = net.queue_pair("c", Net::ref("b"), {}, "", "");
  net.drive();
  ASSERT_TRUE(handle.get()) << handle.message();
  EXPECT_EQ(handle.value().descriptor.transport, "soft");
  EXPECT_EQ(handle.value().descriptor.self_device, "soft0");
  EXPECT_EQ(handle.value().descriptor.other_device, "soft0");
}

TEST_F(Connecting, ThePeersDevicesAreAskedForOnce) {
  std::vector<Later<QueuePairHandle>> handles;
  for (int i = 0; i < 10; ++i) {
    handles.push_back(net.queue_pair("a", Net::ref("b"), {}, "", ""));
  }
  net.drive();
  handles.push_back(net.queue_pair("a", Net::ref("b"), {}, "", ""));
  net.drive();
  for (const auto& handle : handles) {
    ASSERT_TRUE(handle.get()) << handle.message();
  }
  EXPECT_EQ(net.sent("ListDevices"), 1);
}

TEST_F(Connecting, APassivePeerCanOnlyBeWaitedFor) {
  messages::ActorRef passive = Net::ref("b");
  passive.at.clear();
  for (const std::string device : {"soft0", ""}) {
    const auto handle = net.queue_pair("a", passive, {}, "soft0", device);
    ASSERT_TRUE(handle.ready());
    EXPECT_EQ(handle.code(), ErrorCode::unreachable);
  }
  ASSERT_TRUE(connect("b", "a").get());
  net.drive();
  for (const std::string device : {"soft0", ""}) {
    const auto handle = net.queue_pair("a", passive, {}, "soft0", device);
    ASSERT_TRUE(handle.ready());
    EXPECT_TRUE(handle.get());
  }
}

TEST_F(Connecting, ClosePeerDestroysBothEnds) {
  const auto handle = connect("a", "b");
  net.drive();
  const auto closed = net.close_peer("a", Net::ref("b"));
  net.drive();
  ASSERT_TRUE(closed.ready());
  EXPECT_TRUE(closed.get());
  EXPECT_TRUE(net.stats("a").queue_pairs.empty());
  EXPECT_TRUE(net.stats("b").queue_pairs.empty());
  EXPECT_EQ(handle.value().operations->queue_pair().state(), QueuePairState::error);
  const auto again = net.close_peer("a", Net::ref("b"));
  net.drive();
  EXPECT_EQ(again.code(), ErrorCode::not_found);
}

TEST_F(Connecting, AThirdMayCloseAPair) {
  ASSERT_TRUE(connect("a", "b").get());
  net.drive();
  const messages::ClosePeer close{
      .other = Net::ref("b"), .self_device = "soft0", .other_device = "soft0"};
  EXPECT_TRUE(net.ask("operator", "a", close));
  EXPECT_TRUE(net.stats("a").queue_pairs.empty());
  EXPECT_TRUE(net.stats("b").queue_pairs.empty());
}

TEST_F(Connecting, ClosingAPairWithADeadPeerSucceeds) {
  ASSERT_TRUE(connect("a", "b").get());
  net.drive();
  net.kill("b");
  const auto closed = net.close_peer("a", Net::ref("b"));
  net.drive();
  EXPECT_TRUE(closed.get());
  EXPECT_TRUE(net.fabric().queue_pairs.size() <= 1);
}

TEST_F(Connecting, ClosePeerEndsAnAttemptThatIsUnderWay) {
  const auto handle = net.queue_pair("a", Net::ref("b"));
  const auto closed = net.close_peer("a", Net::ref("b"));
  ASSERT_TRUE(handle.ready());
  EXPECT_EQ(handle.code(), ErrorCode::queue_pair_reset);
  net.drive();
  EXPECT_TRUE(closed.ready());
  EXPECT_TRUE(net.stats("a").queue_pairs.empty());
  EXPECT_TRUE(net.stats("b").queue_pairs.empty());
  EXPECT_TRUE(net.fabric().queue_pairs.empty());
  EXPECT_TRUE(connect("a", "b").get());
}

TEST_F(Connecting, ReleaseQueuePairIsAcknowledgedAndChangesNothing) {
  const auto handle = connect("a", "b");
  net.drive();
  const messages::ReleaseQueuePair release{.other = Net::ref("b"),
                                           .self_device = "soft0",
                                           .other_device = "soft0",
                                           .qp = handle.value().descriptor};
  EXPECT_TRUE(net.ask("b", "a", release));
  EXPECT_TRUE(net.connected("a", "b"));
}

TEST_F(Connecting, RequestQueuePairAnswersWithADescriptor) {
  const messages::RequestQueuePair request{
      .other = Net::ref("b"), .self_device = "soft0", .other_device = "soft0"};
  const auto descriptor = net.ask("operator", "a", request);
  ASSERT_TRUE(descriptor) << descriptor.error().message();
}

}  // namespace
}  // namespace danaus::manager::testing
