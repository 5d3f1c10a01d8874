// The handshake by single messages, and what it has in common with connecting by itself.
#include <gtest/gtest.h>

#include "tests/unit/manager/harness.hpp"

namespace danaus::manager::testing {
namespace {

using messages::Connect;
using messages::ConnectionInfo;
using messages::GetQpState;
using messages::InitializeQP;

class StepwiseHandshake : public ::testing::Test {
 protected:
  StepwiseHandshake() {
    net.start("a");
    net.start("b");
  }
  std::expected<bool, Error> initialize(const std::string& at, const std::string& other) {
    return net.ask("operator", at, InitializeQP{Net::ref(other), "soft0", "soft0"});
  }
  std::expected<messages::QpInfo, Error> info(const std::string& at, const std::string& other) {
    return net.ask("operator", at, ConnectionInfo{Net::ref(other), "soft0", "soft0"});
  }
  std::expected<messages::Unit, Error> connect(const std::string& at, const std::string& other,
                                               const messages::QpInfo& endpoint) {
    return net.ask("operator", at, Connect{Net::ref(other), "soft0", "soft0", endpoint});
  }
  std::expected<std::uint32_t, Error> state(const std::string& at, const std::string& other) {
    return net.ask("operator", at, GetQpState{Net::ref(other), "soft0", "soft0"});
  }
  Later<QueuePairHandle> request(const std::string& at, const std::string& other) {
    const auto handle = net.queue_pair(at, Net::ref(other));
    net.drive_until([&] { return handle.ready(); });
    net.drive();
    return handle;
  }
  void handshake() {
    ASSERT_TRUE(initialize("a", "b"));
    ASSERT_TRUE(initialize("b", "a"));
    ASSERT_TRUE(connect("a", "b", info("b", "a").value()));
    ASSERT_TRUE(connect("b", "a", info("a", "b").value()));
  }
  Net net;
};

TEST_F(StepwiseHandshake, LeadsToReadyToSendAtBothEnds) {
  handshake();
  EXPECT_EQ(state("a", "b").value(), 3U);
  EXPECT_EQ(state("b", "a").value(), 3U);
  EXPECT_TRUE(net.connected("a", "b"));
}

TEST_F(StepwiseHandshake, InitializeIsIdempotent) {
  ASSERT_TRUE(initialize("a", "b").value());
  const auto before = info("a", "b").value();
  EXPECT_TRUE(initialize("a", "b").value());
  EXPECT_EQ(info("a", "b").value(), before);
  EXPECT_EQ(state("a", "b").value(), 0U) << "RESET";
}

TEST_F(StepwiseHandshake, InitializeReplacesAQueuePairInError) {
  handshake();
  const auto before = info("a", "b").value();
  net.break_queue_pair(before.qp_num);
  EXPECT_EQ(state("a", "b").value(), 6U) << "queried now";
  EXPECT_TRUE(initialize("a", "b").value());
  EXPECT_NE(info("a", "b").value().qp_num, before.qp_num);
}

TEST_F(StepwiseHandshake, WhatComesBeforeInitializeSaysSo) {
  const auto early_info = info("a", "b");
  const auto early_connect = connect("a", "b", {});
  const auto early_state = state("a", "b");
  for (const Error& error : {early_info.error(), early_connect.error(), early_state.error()}) {
    EXPECT_EQ(error.code(), ErrorCode::not_found);
    EXPECT_NE(error.message().find("InitializeQP"), std::string::npos) << error.message();
  }
}

TEST_F(StepwiseHandshake, ASecondConnectIsNothingWithTheSameEndpointAndAConflictWithAnother) {
  handshake();
  const auto endpoint = info("b", "a").value();
  EXPECT_TRUE(connect("a", "b", endpoint));
  messages::QpInfo another = endpoint;
  another.qp_num += 1000;
  const auto conflict = connect("a", "b", another);
  ASSERT_FALSE(conflict);
  EXPECT_EQ(conflict.error().code(), ErrorCode::connect_conflict);
  EXPECT_EQ(state("a", "b").value(), 3U);
}

TEST_F(StepwiseHandshake, GetQpStateAfterAConnectCastSeesItDone) {
  ASSERT_TRUE(initialize("a", "b"));
  ASSERT_TRUE(initialize("b", "a"));
  const auto endpoint = info("b", "a").value();
  static_cast<void>(
      net.send("operator", "a", Connect{Net::ref("b"), "soft0", "soft0", endpoint}, 5s, false));
  EXPECT_EQ(state("a", "b").value(), 3U);
}

TEST_F(StepwiseHandshake, ItsQueuePairServesRequestQueuePair) {
  handshake();
  const auto number = info("a", "b").value().qp_num;
  const auto handle = request("a", "b");
  ASSERT_TRUE(handle.get()) << handle.message();
  EXPECT_EQ(handle.value().descriptor.qp_num, number);
  EXPECT_EQ(net.sent("ConnectPeer"), 0);
}

TEST_F(StepwiseHandshake, AHalfMadeOneIsFinishedByRequestQueuePair) {
  ASSERT_TRUE(initialize("a", "b"));
  ASSERT_TRUE(initialize("b", "a"));
  const auto handle = request("a", "b");
  ASSERT_TRUE(handle.get()) << handle.message();
  EXPECT_TRUE(net.connected("a", "b"));
  EXPECT_EQ(net.fabric().queue_pairs_created, 2);
}

TEST_F(StepwiseHandshake, AHalfMadeOneIsNotHandedOut) {
  ASSERT_TRUE(initialize("a", "b"));
  net.kill("b");
  EXPECT_EQ(request("a", "b").code(), ErrorCode::unreachable);
}

TEST_F(StepwiseHandshake, ClosePeerUndoesItThoughThePeerHasNoSuchDevice) {
  ASSERT_TRUE(net.ask("operator", "a", InitializeQP{Net::ref("b"), "soft0", "no such device"}));
  const messages::ClosePeer close{Net::ref("b"), "soft0", "no such device"};
  EXPECT_TRUE(net.ask("operator", "a", close));
  EXPECT_TRUE(net.stats("a").queue_pairs.empty());
  EXPECT_EQ(net.ask("operator", "a", close).error().code(), ErrorCode::unknown_device);
}

TEST_F(StepwiseHandshake, ClosePeerUndoesIt) {
  handshake();
  const messages::ClosePeer close{Net::ref("b"), "soft0", "soft0"};
  EXPECT_TRUE(net.ask("operator", "a", close));
  EXPECT_EQ(state("a", "b").error().code(), ErrorCode::not_found);
  EXPECT_EQ(state("b", "a").error().code(), ErrorCode::not_found);
}

TEST_F(StepwiseHandshake, NamesWhatIsMissing) {
  const auto no_device = net.ask("operator", "a", InitializeQP{Net::ref("b"), "soft0", ""});
  EXPECT_EQ(no_device.error().code(), ErrorCode::invalid_argument);
  const auto unknown = net.ask("operator", "a", InitializeQP{Net::ref("b"), "eth0", "soft0"});
  EXPECT_EQ(unknown.error().code(), ErrorCode::unknown_device);
  EXPECT_NE(unknown.error().message().find("soft0"), std::string::npos);
  const auto bad_name = net.ask("operator", "a", InitializeQP{{"no name", ""}, "soft0", "soft0"});
  EXPECT_EQ(bad_name.error().code(), ErrorCode::invalid_argument);
}

// ---- both ends in one manager -------------------------------------------------------------------

class OneManager : public ::testing::Test {
 protected:
  OneManager() { net.start("a", Net::soft_devices(2)); }
  Later<QueuePairHandle> request(const std::string& self_device, const std::string& other_device) {
    const auto handle = net.queue_pair("a", Net::ref("a"), {}, self_device, other_device);
    net.drive();
    return handle;
  }
  Net net;
};

TEST_F(OneManager, ConnectsADeviceWithItself) {
  const auto handle = request("soft0", "soft0");
  ASSERT_TRUE(handle.ready());
  ASSERT_TRUE(handle.get()) << handle.message();
  EXPECT_EQ(handle.value().descriptor.qp_num, handle.value().descriptor.peer_qp_num);
  EXPECT_EQ(request("", "").value().operations, handle.value().operations);
  EXPECT_EQ(net.fabric().queue_pairs.size(), 1U);
}

TEST_F(OneManager, ConnectsTwoOfItsDevices) {
  const auto there = request("soft0", "soft1");
  const auto back = request("soft1", "soft0");
  ASSERT_TRUE(there.get()) << there.message();
  ASSERT_TRUE(back.get()) << back.message();
  EXPECT_EQ(there.value().descriptor.qp_num, back.value().descriptor.peer_qp_num);
  EXPECT_EQ(back.value().descriptor.qp_num, there.value().descriptor.peer_qp_num);
  EXPECT_EQ(net.fabric().queue_pairs.size(), 2U);
  EXPECT_EQ(net.in_flight(), 0U);
}

TEST_F(OneManager, ConnectsTwoOfItsDevicesFromBothEndsAtOnce) {
  std::vector<Later<QueuePairHandle>> handles;
  for (int i = 0; i < 50; ++i) {
    handles.push_back(net.queue_pair("a", Net::ref("a"), {}, "soft0", "soft1"));
    handles.push_back(net.queue_pair("a", Net::ref("a"), {}, "soft1", "soft0"));
  }
  net.drive();
  for (const auto& handle : handles) {
    ASSERT_TRUE(handle.ready());
    ASSERT_TRUE(handle.get()) << handle.message();
  }
  EXPECT_EQ(net.fabric().queue_pairs_created, 2);
}

TEST_F(OneManager, ReplacesALoopbackInError) {
  const auto first = request("soft0", "soft0");
  net.break_queue_pair(first.value().descriptor.qp_num);
  const auto second = request("soft0", "soft0");
  ASSERT_TRUE(second.get()) << second.message();
  EXPECT_NE(second.value().operations, first.value().operations);
}

TEST_F(OneManager, ReplacesBothEndsWhenOneIsInError) {
  const auto there = request("soft0", "soft1");
  net.break_queue_pair(there.value().descriptor.qp_num);
  const auto again = request("soft0", "soft1");
  const auto back = request("soft1", "soft0");
  ASSERT_TRUE(again.get()) << again.message();
  ASSERT_TRUE(back.get()) << back.message();
  EXPECT_EQ(again.value().descriptor.qp_num, back.value().descriptor.peer_qp_num);
}

TEST_F(OneManager, AFailureLeavesNeitherEnd) {
  net.fabric().refuses_queue_pairs = {"soft1"};
  EXPECT_EQ(request("soft0", "soft1").code(), ErrorCode::resource_exhausted);
  EXPECT_TRUE(net.fabric().queue_pairs.empty());
  EXPECT_TRUE(net.stats("a").queue_pairs.empty());
}

TEST_F(OneManager, ClosePeerDestroysBothEnds) {
  ASSERT_TRUE(request("soft0", "soft1").get());
  const messages::ClosePeer close{Net::ref("a"), "soft1", "soft0"};
  EXPECT_TRUE(net.ask("operator", "a", close));
  EXPECT_TRUE(net.fabric().queue_pairs.empty());
}

TEST_F(OneManager, KnowsItsOwnLife) {
  const auto current = net.queue_pair("a", Net::ref("a"), net.incarnation("a"));
  net.drive();
  EXPECT_TRUE(current.get());
  const auto stale = net.queue_pair("a", Net::ref("a"), messages::Incarnation{});
  net.drive();
  EXPECT_EQ(stale.code(), ErrorCode::stale_peer);
}

TEST_F(OneManager, CanBeHandshakenStepByStep) {
  ASSERT_TRUE(net.ask("operator", "a", InitializeQP{Net::ref("a"), "soft0", "soft1"}));
  ASSERT_TRUE(net.ask("operator", "a", InitializeQP{Net::ref("a"), "soft1", "soft0"}));
  const auto near = net.ask("operator", "a", ConnectionInfo{Net::ref("a"), "soft0", "soft1"});
  const auto far = net.ask("operator", "a", ConnectionInfo{Net::ref("a"), "soft1", "soft0"});
  ASSERT_TRUE(net.ask("operator", "a", Connect{Net::ref("a"), "soft0", "soft1", far.value()}));
  ASSERT_TRUE(net.ask("operator", "a", Connect{Net::ref("a"), "soft1", "soft0", near.value()}));
  const auto handle = request("soft0", "soft1");
  ASSERT_TRUE(handle.get()) << handle.message();
  EXPECT_EQ(handle.value().descriptor.peer_qp_num, far.value().qp_num);
}

}  // namespace
}  // namespace danaus::manager::testing
