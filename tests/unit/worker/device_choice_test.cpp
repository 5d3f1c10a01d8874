#include "worker/device_choice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace danaus::worker {
namespace {

using messages::DeviceInfo;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const LocalDevice soft0{"soft0", "soft"};
const LocalDevice soft1{"soft1", "soft"};
const LocalDevice nic{"mlx5_0", "verbs"};

std::vector<DeviceInfo> machine() {
  return {
      {.name = "mlx5_0", .transport = "verbs", .usable = true, .reason = {}, .attributes = {}},
      {.name = "mlx5_1", .transport = "verbs", .usable = false, .reason = "down", .attributes = {}},
      {.name = "soft0", .transport = "soft", .usable = true, .reason = {}, .attributes = {}},
      {.name = "soft1", .transport = "soft", .usable = true, .reason = {}, .attributes = {}}};
}

/// On a NIC first, in software too.
messages::RdmaBuffer buffer_on_both() {
  messages::RdmaBuffer buffer;
  buffer.owner = {"b", "tcp://127.0.0.1:7000"};
  buffer.device_name = "mlx5_7";
  buffer.transport = "verbs";
  buffer.addr = 1000;
  buffer.rkey = 10;
  buffer.alternates = {{.device_name = "soft0", .transport = "soft", .addr = 2000, .rkey = 20}};
  return buffer;
}

TEST(DeviceChoice, OrdersTheUsableDevicesWithTheConfiguredOneFirst) {
  EXPECT_THAT(in_order_of_preference(machine(), "auto"), ElementsAre(nic, soft0, soft1));
  EXPECT_THAT(in_order_of_preference(machine(), "mlx5_0"), ElementsAre(nic, soft0, soft1));
}

TEST(DeviceChoice, LeavesTheNicAloneWhereSoftwareIsConfigured) {
  EXPECT_THAT(in_order_of_preference(machine(), "soft"), ElementsAre(soft0, soft1));
  EXPECT_THAT(in_order_of_preference(machine(), "soft1"), ElementsAre(soft1, soft0));
}

TEST(DeviceChoice, TakesTheOwnersFirstRegistrationWhereWeCanReachIt) {
  const messages::RdmaBuffer buffer = buffer_on_both();
  const std::vector local{soft0, nic};
  const auto pair = choose_device_pair(local, buffer);
  ASSERT_TRUE(pair);
  EXPECT_EQ(pair->self_device, "mlx5_0");
  EXPECT_EQ(pair->remote.device, "mlx5_7");
  EXPECT_EQ(pair->remote.address, 1000U);
  EXPECT_EQ(pair->remote.rkey, 10U);
}

TEST(DeviceChoice, TakesAnAlternateOfATransportThatWeSpeak) {
  const messages::RdmaBuffer buffer = buffer_on_both();
  const std::vector local{soft1, soft0};
  const auto pair = choose_device_pair(local, buffer);
  ASSERT_TRUE(pair);
  EXPECT_EQ(pair->self_device, "soft1");
  EXPECT_EQ(pair->remote.device, "soft0");
  EXPECT_EQ(pair->remote.address, 2000U);
  EXPECT_EQ(pair->remote.rkey, 20U);
}

TEST(DeviceChoice, NamesBothSidesWhereNoTransportIsCommon) {
  messages::RdmaBuffer buffer = buffer_on_both();
  buffer.alternates.clear();
  const std::vector local{soft0};
  const auto pair = choose_device_pair(local, buffer);
  ASSERT_FALSE(pair);
  EXPECT_EQ(pair.error().code(), ErrorCode::transport_mismatch);
  EXPECT_THAT(pair.error().message(), HasSubstr("soft0 (soft)"));
  EXPECT_THAT(pair.error().message(), HasSubstr("mlx5_7 (verbs)"));
  EXPECT_THAT(pair.error().message(), HasSubstr("b@tcp://127.0.0.1:7000"));
}

}  // namespace
}  // namespace danaus::worker
