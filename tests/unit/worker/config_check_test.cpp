#include "worker/config_check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test_workers.hpp"

namespace danaus::worker {
namespace {

using danaus::testing::code_name;
using danaus::testing::config_of;
using danaus::testing::error_of;
using messages::DeviceInfo;
using ::testing::AllOf;
using ::testing::HasSubstr;

const DeviceInfo software{
    .name = "soft0", .transport = "soft", .usable = true, .reason = {}, .attributes = {}};
const DeviceInfo down{.name = "mlx5_0",
                      .transport = "verbs",
                      .usable = false,
                      .reason = "port 1 is down",
                      .attributes = {}};
const DeviceInfo up{
    .name = "mlx5_1", .transport = "verbs", .usable = true, .reason = {}, .attributes = {}};

Error refusal_of(const WorkerConfig& config) {
  return error_of([&config] { check_config(config); });
}

Error choice_refusal(const WorkerConfig& config, const std::vector<DeviceInfo>& devices) {
  return error_of([&] { check_device_choice(config, devices); });
}

TEST(ConfigCheck, TakesTheDefaults) {
  EXPECT_NO_THROW(check_config(config_of("worker-a.1_b")));
}

TEST(ConfigCheck, RefusesIdentitiesThatDoNotFitThePattern) {
  for (const std::string& identity : {std::string{}, std::string{"a b"}, std::string{"a@b"},
                                      std::string{"a/b"}, std::string(201, 'a')}) {
    EXPECT_EQ(code_name(refusal_of(config_of(identity))), "InvalidArgument") << identity;
  }
}

TEST(ConfigCheck, NamesTheSettingThatIsOutOfBounds) {
  WorkerConfig devices = config_of("a");
  devices.soft_devices = 0;
  EXPECT_THAT(refusal_of(devices).message(), HasSubstr("soft_devices"));
  devices.soft_devices = max_soft_devices + 1;
  EXPECT_THAT(refusal_of(devices).message(), HasSubstr("soft_devices"));
  WorkerConfig watchdog = config_of("a");
  watchdog.watchdog_timeout = std::chrono::milliseconds{0};
  EXPECT_THAT(refusal_of(watchdog).message(), HasSubstr("watchdog_timeout"));
  watchdog.watchdog_timeout = std::chrono::milliseconds::max();
  EXPECT_THAT(refusal_of(watchdog).message(), HasSubstr("watchdog_timeout"));
}

TEST(ConfigCheck, RefusesToRequireRdmaAndSoftwareAtOnce) {
  WorkerConfig config = config_of("a");
  config.require_rdma = true;
  config.device = "soft";
  EXPECT_EQ(code_name(refusal_of(config)), "InvalidArgument");
}

TEST(DeviceChoiceCheck, ListsTheDevicesWhereTheNamedOneIsUnknown) {
  WorkerConfig config = config_of("a");
  config.device = "mlx5_9";
  const Error error = choice_refusal(config, {software, up});
  EXPECT_EQ(code_name(error), "UnknownDevice");
  EXPECT_THAT(error.message(), AllOf(HasSubstr("mlx5_9"), HasSubstr("soft0, mlx5_1")));
}

TEST(DeviceChoiceCheck, SaysWhyTheNamedDeviceIsNotUsable) {
  WorkerConfig config = config_of("a");
  config.device = "mlx5_0";
  const Error error = choice_refusal(config, {software, down});
  EXPECT_EQ(code_name(error), "DeviceUnusable");
  EXPECT_THAT(error.message(), HasSubstr("port 1 is down"));
}

TEST(DeviceChoiceCheck, SaysInOneLineWhyThereIsNoRdma) {
  WorkerConfig config = config_of("a");
  config.require_rdma = true;
  const Error none = choice_refusal(config, {software});
  EXPECT_EQ(code_name(none), "DeviceUnusable");
  EXPECT_THAT(none.message(), HasSubstr("this build supports none"));
  const Error unusable = choice_refusal(config, {software, down});
  EXPECT_EQ(code_name(unusable), "DeviceUnusable");
  EXPECT_THAT(unusable.message(), HasSubstr("mlx5_0: port 1 is down"));
  for (const Error& error : {none, unusable}) {
    EXPECT_EQ(error.message().find('\n'), std::string::npos);
  }
  EXPECT_NO_THROW(check_device_choice(config, std::vector{software, down, up}));
}

}  // namespace
}  // namespace danaus::worker
