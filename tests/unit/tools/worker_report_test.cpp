#include "tools/worker_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace danaus::tools {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

messages::DeviceInfo soft_device() {
  return {.name = "soft0",
          .transport = "soft",
          .port = 1,
          .usable = true,
          .reason = "",
          .attributes = {{"data_address", "127.0.0.1:41237"}}};
}

TEST(DeviceReport, IsATable) {
  EXPECT_EQ(format_devices({soft_device()}, false),
            "  NAME   TRANSPORT  PORT  USABLE\n"
            "  soft0  soft       1     yes\n");
}

TEST(DeviceReport, TellsWhyADeviceIsNotUsable) {
  messages::DeviceInfo device = soft_device();
  device.usable = false;
  device.reason = "its port is down";
  EXPECT_THAT(format_devices({device}, false), HasSubstr("no: its port is down"));
}

TEST(DeviceReport, ShowsAttributesOnlyWhenVerbose) {
  EXPECT_THAT(format_devices({soft_device()}, false), Not(HasSubstr("data_address")));
  EXPECT_THAT(format_devices({soft_device()}, true), HasSubstr("data_address: 127.0.0.1:41237"));
}

TEST(DeviceReport, SaysSoWhenThereAreNone) {
  EXPECT_EQ(format_devices({}, false), "  none\n");
}

TEST(StatusReport, ShowsIdentityUptimeBuffersQueuePairsAndCounters) {
  messages::Stats stats;
  stats.self = {"a", "tcp://127.0.0.1:5"};
  stats.version = "0.1.0";
  stats.uptime_seconds = 3723.5;
  stats.buffers = 2;
  messages::QueuePairStats pair;
  pair.queue_pair = {.transport = "soft",
                     .self_device = "soft0",
                     .other = {"b", "tcp://127.0.0.1:6"},
                     .other_device = "soft1",
                     .qp_num = 17,
                     .peer_qp_num = 18,
                     .state = 3,
                     .incarnation = {}};
  pair.path = "tcp";
  pair.phase = "ready";
  stats.queue_pairs.push_back(pair);
  stats.counters["mailbox.malformed_frames"] = 4;
  stats.counters["mailbox.casts_sent"] = 0;
  messages::NamedBuffer weights{"weights", {}};
  weights.buffer.size = 64U << 20U;

  EXPECT_THAT(
      format_status(stats, {soft_device()}, {weights}),
      AllOf(HasSubstr("a@tcp://127.0.0.1:5"), HasSubstr("uptime      1:02:03"),
            HasSubstr("weights  64 MiB"), HasSubstr("b@tcp://127.0.0.1:6"), HasSubstr("RTS"),
            HasSubstr("ready"), HasSubstr("mailbox.malformed_frames  4")));
}

TEST(StatusReport, KeepsControlCharactersFromTheTerminal) {
  messages::Stats stats;
  stats.self = {"a", "ipc:///\x1b[2J"};
  stats.counters["\x1b]0;title\x07"] = 1;
  messages::DeviceInfo device = soft_device();
  device.name = "\x1b[31m";
  messages::QueuePairStats pair;
  pair.phase = "\x1b[1m";
  pair.queue_pair.state = 4711;
  stats.queue_pairs.push_back(pair);
  const std::string report = format_status(stats, {device}, {{"\x1b[32m", {}}});
  EXPECT_THAT(report, Not(HasSubstr("\x1b")));
  EXPECT_THAT(report, HasSubstr("unknown (4711)"));
}

TEST(StatusReport, TellsHowManyQueuePairsItDoesNotList) {
  messages::Stats stats;
  stats.queue_pairs.resize(2);
  stats.counters["manager.queue_pairs"] = 2;
  EXPECT_THAT(format_status(stats, {}, {}), Not(HasSubstr(" more")));
  stats.counters["manager.queue_pairs"] = 5;
  EXPECT_THAT(format_status(stats, {}, {}), HasSubstr("and 3 more"));
}

TEST(StatusReport, SurvivesAnUptimeThatMakesNoSense) {
  messages::Stats stats;
  stats.uptime_seconds = -1e300;
  EXPECT_THAT(format_status(stats, {}, {}), HasSubstr("uptime      unknown"));
}

}  // namespace
}  // namespace danaus::tools
