// Registrations: on which devices, under which names, by whom, and who may release them.
#include <gtest/gtest.h>

#include "tests/unit/manager/harness.hpp"

namespace danaus::manager::testing {
namespace {

using messages::ListBuffers;
using messages::LookupBuffer;
using messages::ReleaseBuffer;
using messages::RequestBuffer;

constexpr std::uint64_t buffer_address = 0x10000;

ManagerConfig any_policy() {
  ManagerConfig config = Net::default_config();
  config.register_policy = RegisterPolicy::any;
  return config;
}

class RegisteredBuffers : public ::testing::Test {
 protected:
  RegisteredBuffers() { net.start("a", Net::soft_devices(2)); }
  Net net;
};

TEST_F(RegisteredBuffers, AreRegisteredWithEveryUsableDeviceTheChosenOneFirst) {
  ManagerConfig config = Net::default_config();
  config.device = "soft1";
  net.start("b",
            {Net::device("soft0", "soft"), Net::device("soft1", "soft"),
             Net::device("soft2", "soft", false)},
            config);
  const auto registration = net.register_buffer("b", buffer_address, 100);
  ASSERT_TRUE(registration.get()) << registration.message();
  const messages::RdmaBuffer& buffer = registration.value().buffer;
  EXPECT_EQ(buffer.owner, Net::ref("b"));
  EXPECT_EQ(buffer.incarnation, net.incarnation("b"));
  EXPECT_EQ(buffer.addr, buffer_address);
  EXPECT_EQ(buffer.size, 100U);
  EXPECT_EQ(buffer.device_name, "soft1");
  ASSERT_EQ(buffer.alternates.size(), 1U);
  EXPECT_EQ(buffer.alternates[0].device_name, "soft0");
  EXPECT_EQ(registration.value().lkeys.size(), 2U);
  EXPECT_EQ(registration.value().lkeys.at("soft1"), buffer.lkey);
  EXPECT_EQ(net.fabric().regions, 2);
}

TEST_F(RegisteredBuffers, OpenADeviceOnceHoweverManyWait) {
  for (int i = 0; i < 10; ++i) {
    static_cast<void>(net.register_buffer("a", buffer_address, 100));
  }
  EXPECT_EQ(net.fabric().domains_opened, 2);
  EXPECT_EQ(net.stats("a").buffers, 10U);
}

TEST_F(RegisteredBuffers, AreRolledBackWhenOneDeviceRefuses) {
  net.fabric().refuses_registration = {"soft1"};
  const auto refused = net.register_buffer("a", buffer_address, 100, "weights");
  EXPECT_EQ(refused.code(), ErrorCode::registration_failed);
  EXPECT_EQ(refused.get().error().details().at("device"), "soft1");
  EXPECT_EQ(net.fabric().regions, 0);
  EXPECT_EQ(net.stats("a").buffers, 0U);
  net.fabric().refuses_registration.clear();
  EXPECT_TRUE(net.register_buffer("a", buffer_address, 100, "weights").get())
      << "the name is free again";
}

TEST_F(RegisteredBuffers, DoWithoutAFurtherDeviceThatCannotBeOpened) {
  net.fabric().refuses_to_open = {"soft1"};
  const auto registration = net.register_buffer("a", buffer_address, 100);
  ASSERT_TRUE(registration.get()) << registration.message();
  EXPECT_TRUE(registration.value().buffer.alternates.empty());
  net.fabric().refuses_to_open.clear();
  EXPECT_EQ(net.register_buffer("a", buffer_address, 100).value().buffer.alternates.size(), 1U)
      << "a failed opening is tried again";
}

TEST_F(RegisteredBuffers, RefuseEmptyAndWrappingRanges) {
  EXPECT_EQ(net.register_buffer("a", buffer_address, 0).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(net.register_buffer("a", ~0ULL - 1, 100).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(net.register_buffer("a", 1, 100).code(), ErrorCode::registration_failed);
  EXPECT_EQ(net.fabric().regions, 0);
}

TEST_F(RegisteredBuffers, AreOfferedByName) {
  const auto offered = net.register_buffer("a", buffer_address, 100, "weights");
  static_cast<void>(net.register_buffer("a", buffer_address, 100));
  const auto list = net.ask("b", "a", ListBuffers{});
  ASSERT_TRUE(list);
  ASSERT_EQ(list->size(), 1U);
  EXPECT_EQ((*list)[0].name, "weights");
  EXPECT_EQ((*list)[0].buffer, offered.value().buffer);
  EXPECT_EQ(net.ask("b", "a", LookupBuffer{"weights"}).value(), offered.value().buffer);
  EXPECT_EQ(net.ask("b", "a", LookupBuffer{"biases"}).error().code(), ErrorCode::not_found);
}

TEST_F(RegisteredBuffers, HaveNamesOfTheirOwn) {
  ASSERT_TRUE(net.register_buffer("a", buffer_address, 100, "weights").get());
  EXPECT_EQ(net.register_buffer("a", buffer_address, 100, "weights").code(),
            ErrorCode::invalid_argument);
  EXPECT_EQ(net.register_buffer("a", buffer_address, 100, "a/b").code(),
            ErrorCode::invalid_argument);
  EXPECT_EQ(net.stats("a").buffers, 1U);
}

TEST_F(RegisteredBuffers, OthersMayRegisterOnlyWithinWhatIsOffered) {
  ASSERT_TRUE(net.register_buffer("a", buffer_address, 100, "weights").get());
  ASSERT_TRUE(net.register_buffer("a", 2 * buffer_address, 100).get());
  EXPECT_TRUE(net.ask("b", "a", RequestBuffer{buffer_address + 10, 90}));
  for (const RequestBuffer& outside :
       {RequestBuffer{buffer_address + 10, 91}, RequestBuffer{buffer_address - 1, 10},
        RequestBuffer{2 * buffer_address, 100}}) {
    const auto refused = net.ask("b", "a", outside);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::permission_denied);
    EXPECT_NE(refused.error().message().find("--register-policy any"), std::string::npos);
  }
}

TEST_F(RegisteredBuffers, OthersMayRegisterAnythingUnderThePolicyAny) {
  net.start("c", Net::soft_devices(1), any_policy());
  EXPECT_TRUE(net.ask("b", "c", RequestBuffer{buffer_address, 100}));
  EXPECT_EQ(net.ask("b", "c", RequestBuffer{1, 100}).error().code(),
            ErrorCode::registration_failed);
}

TEST_F(RegisteredBuffers, WhatOthersRegisteredGoesWithTheOfferAroundIt) {
  const auto offered = net.register_buffer("a", buffer_address, 100, "weights");
  ASSERT_TRUE(net.ask("b", "a", RequestBuffer{buffer_address, 50}));
  ASSERT_TRUE(net.release_buffer("a", offered.value().buffer.mr_id).get());
  EXPECT_EQ(net.stats("a").buffers, 0U);
  EXPECT_EQ(net.fabric().regions, 0);
}

TEST_F(RegisteredBuffers, AreReleasedOnce) {
  const auto registration = net.register_buffer("a", buffer_address, 100, "weights");
  const std::uint64_t mr_id = registration.value().buffer.mr_id;
  EXPECT_TRUE(net.release_buffer("a", mr_id).get());
  EXPECT_EQ(net.fabric().regions, 0);
  EXPECT_EQ(net.release_buffer("a", mr_id).code(), ErrorCode::not_found);
  EXPECT_EQ(net.ask("b", "a", LookupBuffer{"weights"}).error().code(), ErrorCode::not_found);
  EXPECT_TRUE(net.register_buffer("a", buffer_address, 100, "weights").get());
}

TEST_F(RegisteredBuffers, MayBeReleasedByTheirRegistrantAndTheOwnerOnly) {
  ASSERT_TRUE(net.register_buffer("a", buffer_address, 100, "weights").get());
  const auto own = net.ask("b", "a", RequestBuffer{buffer_address, 50});
  const auto another = net.ask("b", "a", RequestBuffer{buffer_address, 60});
  ASSERT_TRUE(own);
  ASSERT_TRUE(another);
  const auto refused = net.ask("c", "a", ReleaseBuffer{*own});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::permission_denied);
  EXPECT_EQ(net.stats("a").buffers, 3U) << "nothing changed";
  EXPECT_TRUE(net.ask("b", "a", ReleaseBuffer{*own}));
  EXPECT_TRUE(net.ask("a", "a", ReleaseBuffer{*another}));
  EXPECT_EQ(net.ask("b", "a", ReleaseBuffer{*own}).error().code(), ErrorCode::not_found);
  EXPECT_EQ(net.stats("a").buffers, 1U);
}

TEST_F(RegisteredBuffers, OfAnotherOwnerOrAnotherLifeAreNotReleasedHere) {
  messages::RdmaBuffer buffer = net.register_buffer("a", buffer_address, 100).value().buffer;
  buffer.owner.id = "b";
  EXPECT_EQ(net.ask("a", "a", ReleaseBuffer{buffer}).error().code(), ErrorCode::invalid_argument);
  buffer.owner.id = "a";
  buffer.incarnation = {};
  EXPECT_EQ(net.ask("a", "a", ReleaseBuffer{buffer}).error().code(), ErrorCode::stale_peer);
  EXPECT_EQ(net.stats("a").buffers, 1U);
}

TEST_F(RegisteredBuffers, AReleaseOfAnUnknownOneByCastIsCounted) {
  messages::RdmaBuffer buffer = net.register_buffer("a", buffer_address, 100).value().buffer;
  buffer.mr_id = 99;
  static_cast<void>(net.send("b", "a", ReleaseBuffer{buffer}, 5s, false));
  EXPECT_EQ(net.counter("a", "manager.unknown_buffers_released"), 1U);
}

// ---- devices
// --------------------------------------------------------------------------------------

TEST(Devices, AreListedUsableOrNot) {
  Net net;
  net.start("a", {Net::device("mlx5_0", "verbs", false), Net::device("soft0", "soft")});
  const auto list = net.ask("b", "a", messages::ListDevices{});
  ASSERT_TRUE(list);
  EXPECT_EQ(*list, net.manager("a").devices());
  EXPECT_FALSE((*list)[0].usable);
  EXPECT_EQ((*list)[0].reason, "its port is down");
}

TEST(Devices, TheChoiceIsRdmaBeforeSoftware) {
  Net net;
  const std::vector<messages::DeviceInfo> both{Net::device("soft0", "soft"),
                                               Net::device("mlx5_0", "verbs")};
  ManagerConfig config = Net::default_config();
  net.start("auto", both, config);
  EXPECT_EQ(net.register_buffer("auto", buffer_address, 1).value().buffer.device_name, "mlx5_0");
  config.device = "soft";
  net.start("soft", both, config);
  EXPECT_EQ(net.register_buffer("soft", buffer_address, 1).value().buffer.device_name, "soft0");
  config.device = "auto";
  config.require_rdma = true;
  net.start("rdma", both, config);
  EXPECT_TRUE(net.register_buffer("rdma", buffer_address, 1).value().buffer.alternates.empty());
}

TEST(Devices, AChoiceThatCannotBeHadIsRefusedAtTheStart) {
  Net net;
  const auto refusal = [&](const std::string& device, bool require_rdma) {
    ManagerConfig config = Net::default_config();
    config.device = device;
    config.require_rdma = require_rdma;
    try {
      net.start("a", {Net::device("mlx5_0", "verbs", false), Net::device("soft0", "soft")}, config);
    } catch (const Error& error) {
      return error;
    }
    return Error{ErrorCode::internal, "it started"};
  };
  const Error unknown = refusal("eth0", false);
  EXPECT_EQ(unknown.code(), ErrorCode::unknown_device);
  EXPECT_NE(unknown.message().find("mlx5_0, soft0"), std::string::npos) << unknown.message();
  const Error down = refusal("mlx5_0", false);
  EXPECT_EQ(down.code(), ErrorCode::device_unusable);
  EXPECT_NE(down.message().find("its port is down"), std::string::npos) << down.message();
  const Error required = refusal("auto", true);
  EXPECT_EQ(required.code(), ErrorCode::device_unusable);
  EXPECT_NE(required.message().find("its port is down"), std::string::npos) << required.message();
  EXPECT_EQ(refusal("soft0", true).code(), ErrorCode::device_unusable);
}

TEST(Devices, AnUnusableOneSaysWhy) {
  Net net;
  net.start("a", {Net::device("mlx5_0", "verbs", false), Net::device("soft0", "soft")});
  net.start("b");
  const auto handle = net.queue_pair("a", Net::ref("b"), {}, "mlx5_0", "soft0");
  ASSERT_TRUE(handle.ready());
  EXPECT_EQ(handle.code(), ErrorCode::device_unusable);
  EXPECT_NE(handle.message().find("its port is down"), std::string::npos);
}

}  // namespace
}  // namespace danaus::manager::testing
