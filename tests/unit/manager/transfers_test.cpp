// Transfers, statistics, and the end of a manager.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/manager/harness.hpp"

namespace danaus::manager::testing {
namespace {

constexpr std::uint64_t local_address = 0x10000;
constexpr std::uint64_t size = 1000;

class Transfers : public ::testing::Test {
 protected:
  Transfers() {
    net.start("a");
    net.start("b");
    static_cast<void>(net.register_buffer("a", local_address, size, "local"));
    remote = net.register_buffer("b", 2 * local_address, size, "remote").value().buffer;
  }
  messages::Transfer transfer(const std::string& op = "put") const {
    return {.op = op,
            .local = {"local", 10},
            .remote = remote,
            .offset = 20,
            .length = 100,
            .timeout_ms = 5000};
  }
  std::expected<messages::TransferResult, Error> run(const messages::Transfer& message) {
    return net.ask("client", "a", message);
  }
  /// The end of the pair that manager "a" holds, once it is there.
  FakeEnd& end_of_a() {
    return *net.fabric().queue_pairs.at(net.stats("a").queue_pairs.at(0).queue_pair.qp_num);
  }
  bool a_has_posted(std::size_t count) {
    const auto stats = net.stats("a");
    return stats.queue_pairs.size() == 1 && end_of_a().outstanding() >= count;
  }

  Net net;
  messages::RdmaBuffer remote;
};

TEST_F(Transfers, PostTheOperationWithTheKeysOfBothSides) {
  const auto result = run(transfer("put"));
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_EQ(result->bytes, 100U);
  EXPECT_GE(result->seconds, 0.0);
  EXPECT_EQ(result->transport, "soft");
  EXPECT_EQ(result->path, "fake");
  ASSERT_TRUE(run(transfer("get")));
  const auto posted = end_of_a().posted();
  ASSERT_EQ(posted.size(), 2U);
  EXPECT_EQ(posted[0].opcode, transport::Opcode::rdma_write);
  EXPECT_EQ(posted[1].opcode, transport::Opcode::rdma_read);
  EXPECT_EQ(posted[0].local_address, local_address + 10);
  EXPECT_EQ(posted[0].remote_address, 2 * local_address + 20);
  EXPECT_EQ(posted[0].rkey, remote.rkey);
  EXPECT_EQ(posted[0].length, 100U);
}

TEST_F(Transfers, ShowInTheStatistics) {
  ASSERT_TRUE(run(transfer()));
  const auto stats = net.stats("a");
  ASSERT_EQ(stats.queue_pairs.size(), 1U);
  EXPECT_EQ(stats.self, Net::ref("a"));
  EXPECT_EQ(stats.incarnation, net.incarnation("a"));
  EXPECT_EQ(stats.queue_pairs[0].operations, 1U);
  EXPECT_EQ(stats.queue_pairs[0].bytes, 100U);
  EXPECT_EQ(stats.queue_pairs[0].phase, "ready");
  EXPECT_EQ(stats.queue_pairs[0].path, "fake");
  EXPECT_EQ(stats.counters.at("manager.transfers"), 1U);
  EXPECT_EQ(stats.counters.at("link.test"), 1U);
}

TEST_F(Transfers, RefuseWhatMakesNoSense) {
  messages::Transfer wrong_op = transfer("copy");
  EXPECT_EQ(run(wrong_op).error().code(), ErrorCode::invalid_argument);
  messages::Transfer no_buffer = transfer();
  no_buffer.local.buffer = "nothing";
  EXPECT_EQ(run(no_buffer).error().code(), ErrorCode::not_found);
  messages::Transfer past_local = transfer();
  past_local.local.offset = size - 99;
  EXPECT_EQ(run(past_local).error().code(), ErrorCode::out_of_range);
  messages::Transfer past_remote = transfer();
  past_remote.offset = ~0ULL;
  EXPECT_EQ(run(past_remote).error().code(), ErrorCode::out_of_range);
  messages::Transfer no_device = transfer();
  no_device.remote.transport = "verbs";
  EXPECT_EQ(run(no_device).error().code(), ErrorCode::transport_mismatch);
  messages::Transfer stale = transfer();
  stale.remote.incarnation = {};
  EXPECT_EQ(run(stale).error().code(), ErrorCode::stale_peer);
  EXPECT_EQ(net.counter("a", "manager.transfers_failed"), 6U);
}

TEST_F(Transfers, MoveNothingAtTheVeryEndOfABuffer) {
  messages::Transfer empty = transfer();
  empty.local.offset = size;
  empty.offset = size;
  empty.length = 0;
  const auto result = run(empty);
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_EQ(result->bytes, 0U);
}

TEST_F(Transfers, TakeAnAlternateOfACommonTransport) {
  messages::Transfer message = transfer();
  message.remote.alternates.push_back(
      {message.remote.device_name, "soft", message.remote.addr, message.remote.rkey});
  message.remote.device_name = "mlx5_0";
  message.remote.transport = "verbs";
  EXPECT_TRUE(run(message));
}

TEST_F(Transfers, OneBeyondTheMostAtOnceIsBusy) {
  net.fabric().complete_at_once = false;
  std::vector<Later<messages::Bytes>> running;
  for (int i = 0; i < 64; ++i) {
    running.push_back(net.send("client", "a", transfer()));
  }
  net.drive_until([&] { return a_has_posted(64); });
  const auto one_more = net.send("client", "a", transfer());
  ASSERT_TRUE(one_more.ready());
  EXPECT_EQ(one_more.code(), ErrorCode::busy);
  end_of_a().complete(1);
  net.drive_until([&] { return running[0].ready(); });
  const auto now_it_fits = net.send("client", "a", transfer());
  EXPECT_FALSE(now_it_fits.ready());
  net.drive_until([&] { return a_has_posted(64); });
  end_of_a().complete(64);
  net.drive_until([&] {
    return now_it_fits.ready() &&
           std::ranges::all_of(running, [](const auto& one) { return one.ready(); });
  });
  EXPECT_TRUE(now_it_fits.get());
}

TEST_F(Transfers, EndByTheirDeadlineWithTheirQueuePairInError) {
  ASSERT_TRUE(run(transfer())) << "connected before the clock runs";
  end_of_a().complete_at_once(false);
  messages::Transfer message = transfer();
  message.timeout_ms = 30;
  const auto late = net.send("client", "a", message);
  net.drive_until([&] { return late.ready(); });
  EXPECT_EQ(late.code(), ErrorCode::timeout);
  EXPECT_EQ(net.stats("a").queue_pairs.at(0).queue_pair.state, 6U);
  EXPECT_TRUE(run(transfer())) << "the next one gets a new queue pair";
}

TEST_F(Transfers, ReportTheFirstErrorOfTheirOwn) {
  net.fabric().complete_at_once = false;
  const auto failing = net.send("client", "a", transfer());
  net.drive_until([&] { return a_has_posted(1); });
  end_of_a().fail(transport::CompletionStatus::remote_access_error);
  net.drive_until([&] { return failing.ready(); });
  EXPECT_EQ(failing.code(), ErrorCode::remote_access_error);
}

TEST_F(Transfers, EndWhenTheirPairIsClosed) {
  net.fabric().complete_at_once = false;
  const auto running = net.send("client", "a", transfer());
  net.drive_until([&] { return a_has_posted(1); });
  const auto closed = net.close_peer("a", Net::ref("b"));
  net.drive_until([&] { return running.ready() && closed.ready(); });
  EXPECT_FALSE(running.get());
  EXPECT_TRUE(closed.get());
  EXPECT_TRUE(net.fabric().queue_pairs.empty());
}

TEST_F(Transfers, ABufferCanBeReleasedMeanwhile) {
  net.fabric().complete_at_once = false;
  const auto running = net.send("client", "a", transfer());
  net.drive_until([&] { return a_has_posted(1); });
  EXPECT_TRUE(net.release_buffer("a", 1).get());
  end_of_a().complete(1);
  net.drive_until([&] { return running.ready(); });
}

// ---- the end ------------------------------------------------------------------------------------

TEST_F(Transfers, AreEndedByTearDownAndThenEverythingGoesInOrder) {
  net.fabric().complete_at_once = false;
  const auto running = net.send("client", "a", transfer());
  net.drive_until([&] { return a_has_posted(1); });
  const int regions_of_b = net.fabric().regions - 1;
  net.fabric().destroyed.clear();
  const auto done = net.tear_down("a");
  net.drive_until([&] { return done.ready(); });
  ASSERT_TRUE(running.ready());
  EXPECT_EQ(running.code(), ErrorCode::shutting_down);
  EXPECT_EQ(net.fabric().regions, regions_of_b);
  EXPECT_EQ(net.fabric().destroyed, (std::vector<std::string>{"queue pair", "region", "domain"}));
  const auto late = net.send("client", "a", transfer());
  EXPECT_EQ(late.code(), ErrorCode::shutting_down);
}

TEST_F(Transfers, ADomainOutlivesTheQueuePairsThatCallersStillHold) {
  auto handle = std::make_unique<Later<QueuePairHandle>>(net.queue_pair("a", Net::ref("b")));
  net.drive();
  ASSERT_TRUE(handle->get());
  net.fabric().destroyed.clear();
  const auto done = net.tear_down("a");
  net.drive_until([&] { return done.ready(); });
  EXPECT_EQ(net.fabric().destroyed, (std::vector<std::string>{"region"}));
  handle.reset();
  EXPECT_EQ(net.fabric().destroyed, (std::vector<std::string>{"region", "queue pair", "domain"}));
}

}  // namespace
}  // namespace danaus::manager::testing
