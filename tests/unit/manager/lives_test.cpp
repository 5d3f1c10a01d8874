// Lives: a peer that restarts with the same identity, and handles of its earlier life.
#include <gtest/gtest.h>

#include <functional>

#include "manager/queue_pair_table.hpp"
#include "messages/codec.hpp"
#include "tests/unit/manager/harness.hpp"

namespace danaus::manager::testing {
namespace {

class Lives : public ::testing::Test {
 protected:
  Lives() {
    net.start("a");
    net.start("b");
  }
  Later<QueuePairHandle> connect(const std::string& from, const messages::ActorRef& to,
                                 std::optional<messages::Incarnation> incarnation = {}) {
    const auto handle = net.queue_pair(from, to, incarnation);
    net.drive_until([&] { return handle.ready(); });
    net.drive();
    return handle;
  }
  void restart(const std::string& name) {
    net.kill(name);
    net.start(name);
  }
  Net net;
};

TEST_F(Lives, AHandleOfTheCurrentLifeNeedsNoSecondQuestion) {
  ASSERT_TRUE(connect("a", Net::ref("b"), net.incarnation("b")).get());
  ASSERT_TRUE(connect("a", Net::ref("b"), net.incarnation("b")).get());
  EXPECT_EQ(net.sent("ConnectPeer"), 1);
  EXPECT_EQ(net.sent("ListDevices"), 0);
}

TEST_F(Lives, AHandleOfAnEarlierLifeIsStale) {
  const auto earlier = net.incarnation("b");
  restart("b");
  EXPECT_EQ(connect("a", Net::ref("b"), earlier).code(), ErrorCode::stale_peer);
  EXPECT_TRUE(net.fabric().queue_pairs.empty());
}

TEST_F(Lives, AHandleOfAnEarlierLifeIsStaleAlsoWhereTheNewOneIsConnected) {
  const auto earlier = net.incarnation("b");
  restart("b");
  const auto current = connect("a", Net::ref("b"));
  ASSERT_TRUE(current.get());
  EXPECT_EQ(connect("a", Net::ref("b"), earlier).code(), ErrorCode::stale_peer);
  const auto again = connect("a", Net::ref("b"));
  EXPECT_EQ(again.value().operations, current.value().operations) << "and nothing is disturbed";
}

TEST_F(Lives, AHandleOfANewLifeReplacesTheQueuePairOfTheOld) {
  const auto old = connect("a", Net::ref("b"));
  restart("b");
  const auto renewed = connect("a", Net::ref("b"), net.incarnation("b"));
  ASSERT_TRUE(renewed.get()) << renewed.message();
  EXPECT_EQ(renewed.value().descriptor.incarnation, net.incarnation("b"));
  EXPECT_EQ(old.value().operations->queue_pair().state(), transport::QueuePairState::error);
  EXPECT_TRUE(net.connected("a", "b"));
}

TEST_F(Lives, AConnectPeerOfANewLifeReplacesTheQueuePairOfTheOld) {
  const auto old = connect("a", Net::ref("b"));
  restart("b");
  ASSERT_TRUE(connect("b", Net::ref("a")).get());
  EXPECT_EQ(old.value().operations->queue_pair().state(), transport::QueuePairState::error);
  EXPECT_TRUE(net.connected("a", "b"));
}

TEST_F(Lives, WhatThePeerMadeIsVerifiedOnceBeforeItServesAHandle) {
  ASSERT_TRUE(connect("b", Net::ref("a")).get());
  const auto handle = connect("a", Net::ref("b"), net.incarnation("b"));
  ASSERT_TRUE(handle.get()) << handle.message();
  EXPECT_EQ(handle.value().descriptor.incarnation, net.incarnation("b"));
  ASSERT_TRUE(connect("a", Net::ref("b"), net.incarnation("b")).get());
  EXPECT_EQ(net.sent("ListDevices"), 1);
  EXPECT_EQ(net.sent("ConnectPeer"), 1);
}

TEST_F(Lives, WhatThePeersEarlierLifeMadeDoesNotServeAHandleOfThisOne) {
  ASSERT_TRUE(connect("b", Net::ref("a")).get());
  restart("b");
  const auto handle = connect("a", Net::ref("b"), net.incarnation("b"));
  ASSERT_TRUE(handle.get()) << handle.message();
  EXPECT_EQ(handle.value().descriptor.incarnation, net.incarnation("b"));
  EXPECT_TRUE(net.connected("a", "b"));
}

TEST_F(Lives, APassivePeersClaimIsHeldAgainstTheHandle) {
  ASSERT_TRUE(connect("b", Net::ref("a")).get());
  const messages::ActorRef passive{"b", ""};
  EXPECT_TRUE(connect("a", passive, net.incarnation("b")).get());
  EXPECT_EQ(connect("a", passive, messages::Incarnation{}).code(), ErrorCode::stale_peer);
}

TEST_F(Lives, ADeadPeerIsAnErrorForCallersAndNothingIsLeft) {
  net.kill("b");
  EXPECT_EQ(connect("a", Net::ref("b")).code(), ErrorCode::unreachable);
  EXPECT_TRUE(net.fabric().queue_pairs.empty());
}

TEST_F(Lives, VisitorsWhoConnectAndDieLeaveNoMoreThanTheTableHoldsAnyway) {
  for (int i = 0; i < 300; ++i) {
    const std::string visitor = "visitor" + std::to_string(i);
    net.start(visitor);
    const auto handle = connect(visitor, Net::ref("a"));
    ASSERT_TRUE(handle.get()) << handle.message();
    net.break_queue_pair(handle.value().descriptor.peer_qp_num);
    net.kill(visitor);
  }
  EXPECT_LE(net.stats("a").queue_pairs.size(), QueuePairTable::first_look_at_size);
  EXPECT_GT(net.counter("a", "manager.queue_pairs_swept"), 0U);
}

// Whoever meets it: a peer that connects, a caller of the manager's own, a step of a handshake.
TEST_F(Lives, AShortageHasDeadVisitorsSweptHoweverFewTheyAre) {
  net.start("unlucky", {Net::device("far", "soft")});
  const auto refused = [&](Later<QueuePairHandle> handle) {
    net.drive();
    return handle.code();
  };
  const std::vector<std::function<ErrorCode()>> ways{
      [&] { return refused(net.queue_pair("unlucky", Net::ref("a"), {}, "far", "soft0")); },
      [&] { return refused(net.queue_pair("a", Net::ref("b"))); },
      [&] {
        return net.ask("operator", "a", messages::InitializeQP{Net::ref("b"), "soft0", "soft0"})
            .error()
            .code();
      },
  };
  for (std::size_t way = 0; way < ways.size(); ++way) {
    const std::string visitor = "visitor" + std::to_string(way);
    net.start(visitor);
    const auto handle = connect(visitor, Net::ref("a"));
    ASSERT_TRUE(handle.get());
    net.break_queue_pair(handle.value().descriptor.peer_qp_num);
    net.kill(visitor);
    EXPECT_EQ(net.counter("a", "manager.queue_pairs_swept"), way);
    net.fabric().refuses_queue_pairs = {"soft0"};
    EXPECT_EQ(ways[way](), ErrorCode::resource_exhausted);
    net.fabric().refuses_queue_pairs.clear();
    EXPECT_EQ(net.counter("a", "manager.queue_pairs_swept"), way + 1);
  }
}

TEST_F(Lives, StatsListNoMoreQueuePairsThanAMessageHolds) {
  constexpr std::uint64_t pairs = 6'000;
  for (std::uint64_t i = 0; i < pairs; ++i) {
    const messages::ActorRef other{"peer" + std::to_string(i), ""};
    ASSERT_TRUE(net.ask("operator", "a", messages::InitializeQP{other, "soft0", "soft0"}));
  }
  const messages::Stats stats = net.stats("a");
  EXPECT_TRUE(messages::decode<messages::Stats>(messages::encode(stats)));
  EXPECT_EQ(stats.queue_pairs.size(), 1'024U);
  EXPECT_EQ(stats.counters.at("manager.queue_pairs"), pairs);
}

TEST_F(Lives, TheSweepForDeadVisitorsTakesNoLivingOne) {
  const int living = static_cast<int>(QueuePairTable::first_look_at_size) + 8;
  for (int i = 0; i < living; ++i) {
    const std::string visitor = "visitor" + std::to_string(i);
    net.start(visitor);
    ASSERT_TRUE(connect(visitor, Net::ref("a")).get());
  }
  EXPECT_EQ(net.stats("a").queue_pairs.size(), static_cast<std::size_t>(living));
  EXPECT_EQ(net.counter("a", "manager.queue_pairs_swept"), 0U);
}

TEST_F(Lives, TheDevicesOfANewLifeAreAskedForAnew) {
  const auto first = net.queue_pair("a", Net::ref("b"), {}, "", "");
  net.drive();
  ASSERT_TRUE(first.get());
  net.kill("b");
  net.start("b", {Net::device("soft7", "soft")});
  net.break_queue_pair(first.value().descriptor.qp_num);
  const auto second = net.queue_pair("a", Net::ref("b"), {}, "", "");
  net.drive_until([&] { return second.ready(); });
  ASSERT_TRUE(second.get()) << second.message();
  EXPECT_EQ(second.value().descriptor.other_device, "soft7");
}

}  // namespace
}  // namespace danaus::manager::testing
