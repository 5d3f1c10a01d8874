// Atomics that a manager carries out for processes that only speak the wire.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/unit/manager/harness.hpp"

namespace danaus::manager::testing {
namespace {

constexpr std::uint64_t counter_address = 0x20000;

class Atomics : public ::testing::Test {
 protected:
  Atomics() {
    net.start("a");
    net.start("b");
    remote = net.register_buffer("b", counter_address, 64, "counters").value().buffer;
  }
  messages::Atomic fetch_add(std::uint64_t value) const {
    return {.op = "fetch_add",
            .remote = remote,
            .offset = 8,
            .add = value,
            .compare = std::nullopt,
            .swap = std::nullopt,
            .timeout_ms = 5000};
  }
  messages::Atomic compare_swap(std::uint64_t expected, std::uint64_t desired) const {
    return {.op = "compare_swap",
            .remote = remote,
            .offset = 56,
            .add = std::nullopt,
            .compare = expected,
            .swap = desired,
            .timeout_ms = 5000};
  }
  std::expected<messages::AtomicResult, Error> run(const messages::Atomic& message) {
    return net.ask("client", "a", message);
  }
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

TEST_F(Atomics, PostTheOperationWithItsOperandsAndTheRemoteKey) {
  const auto added = run(fetch_add(3));
  ASSERT_TRUE(added) << added.error().message();
  EXPECT_EQ(added->transport, "soft");
  EXPECT_EQ(added->path, "fake");
  ASSERT_TRUE(run(compare_swap(4, 5)));
  const auto posted = end_of_a().posted();
  ASSERT_EQ(posted.size(), 2U);
  EXPECT_EQ(posted[0].opcode, transport::Opcode::atomic_fetch_and_add);
  EXPECT_EQ(posted[0].remote_address, counter_address + 8);
  EXPECT_EQ(posted[0].rkey, remote.rkey);
  EXPECT_EQ(posted[0].length, 8U);
  EXPECT_EQ(posted[0].compare_add, 3U);
  EXPECT_EQ(posted[1].opcode, transport::Opcode::atomic_compare_and_swap);
  EXPECT_EQ(posted[1].remote_address, counter_address + 56);
  EXPECT_EQ(posted[1].compare_add, 4U);
  EXPECT_EQ(posted[1].swap, 5U);
  EXPECT_EQ(net.counter("a", "manager.atomics"), 2U);
  EXPECT_EQ(net.counter("a", "manager.atomics_failed"), 0U);
}

TEST_F(Atomics, ReplyWithWhatTheDeviceFound) {
  net.fabric().complete_at_once = false;
  const auto running = net.send("client", "a", fetch_add(1));
  net.drive_until([&] { return a_has_posted(1); });
  // NOLINTNEXTLINE(performance-no-int-to-ptr): what a device would write
  *reinterpret_cast<std::uint64_t*>(end_of_a().posted().at(0).local_address) = 77;
  end_of_a().complete();
  net.drive_until([&] { return running.ready(); });
  ASSERT_TRUE(running.get());
  const auto result = messages::decode<messages::AtomicResult>(*running.get());
  ASSERT_TRUE(result);
  EXPECT_EQ(result->value, 77U);
}

TEST_F(Atomics, RefuseWhatMakesNoSense) {
  auto unknown = fetch_add(1);
  unknown.op = "fetch_sub";
  auto nothing_to_add = fetch_add(1);
  nothing_to_add.add.reset();
  auto too_much_to_add = fetch_add(1);
  too_much_to_add.swap = 1;
  auto nothing_to_swap = compare_swap(1, 2);
  nothing_to_swap.swap.reset();
  auto nothing_to_compare = compare_swap(1, 2);
  nothing_to_compare.compare.reset();
  auto misaligned = fetch_add(1);
  misaligned.offset = 12;
  for (const auto& wrong : {unknown, nothing_to_add, too_much_to_add, nothing_to_swap,
                            nothing_to_compare, misaligned}) {
    const auto refused = run(wrong);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::invalid_argument) << refused.error().message();
  }
  for (const std::uint64_t offset : {std::uint64_t{57}, std::uint64_t{64}, ~std::uint64_t{7}}) {
    auto beyond = fetch_add(1);
    beyond.offset = offset;
    EXPECT_EQ(run(beyond).error().code(), ErrorCode::out_of_range);
  }
  auto no_device = fetch_add(1);
  no_device.remote.transport = "verbs";
  EXPECT_EQ(run(no_device).error().code(), ErrorCode::transport_mismatch);
  auto stale = fetch_add(1);
  stale.remote.incarnation = {};
  EXPECT_EQ(run(stale).error().code(), ErrorCode::stale_peer);
  EXPECT_EQ(net.counter("a", "manager.atomics_failed"), 11U);
}

TEST_F(Atomics, CountAmongTheTransfersThatRunAtOnce) {
  net.fabric().complete_at_once = false;
  std::vector<Later<messages::Bytes>> running;
  for (int i = 0; i < 64; ++i) {
    running.push_back(net.send("client", "a", fetch_add(1)));
  }
  net.drive_until([&] { return a_has_posted(64); });
  const auto one_more = net.send("client", "a", fetch_add(1));
  ASSERT_TRUE(one_more.ready());
  EXPECT_EQ(one_more.code(), ErrorCode::busy);
  end_of_a().complete(64);
  net.drive_until(
      [&] { return std::ranges::all_of(running, [](const auto& one) { return one.ready(); }); });
  end_of_a().complete_at_once();
  EXPECT_TRUE(run(fetch_add(1)));
}

TEST_F(Atomics, EndByTheirDeadlineWithTheirQueuePairInError) {
  ASSERT_TRUE(run(fetch_add(1))) << "connected before the clock runs";
  end_of_a().complete_at_once(false);
  auto message = fetch_add(1);
  message.timeout_ms = 30;
  const auto late = net.send("client", "a", message);
  net.drive_until([&] { return late.ready(); });
  EXPECT_EQ(late.code(), ErrorCode::timeout);
  EXPECT_EQ(net.stats("a").queue_pairs.at(0).queue_pair.state, 6U);
}

TEST_F(Atomics, FailWhereTheirResultCannotBeRegistered) {
  net.fabric().refuses_registration.insert("soft0");
  EXPECT_EQ(run(fetch_add(1)).error().code(), ErrorCode::registration_failed);
}

TEST_F(Atomics, LeaveNothingBehindAtTheEnd) {
  ASSERT_TRUE(run(fetch_add(1)));
  const int regions_before = net.fabric().regions;
  const auto done = net.tear_down("a");
  net.drive_until([&] { return done.ready(); });
  EXPECT_EQ(net.fabric().regions, regions_before - 1) << "that of the results";
}

}  // namespace
}  // namespace danaus::manager::testing
