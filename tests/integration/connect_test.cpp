// Making and closing queue pairs between real managers: crossing, many at once, failing, leaking.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <set>

#include "tests/integration/harness/calls.hpp"

namespace danaus::integration {
namespace {

constexpr std::size_t payload = 4096;

messages::RequestQueuePair pair_with(const messages::ActorRef& other, std::string self_device = "",
                                     std::string other_device = "") {
  return {.other = other,
          .self_device = std::move(self_device),
          .other_device = std::move(other_device)};
}

messages::ClosePeer close_with(const messages::ActorRef& other) {
  return {.other = other, .self_device = "soft0", .other_device = "soft0"};
}

/// The one queue pair that `worker` has; a test failure and nothing when it has another number.
std::optional<messages::QueuePairDescriptor> only_pair(Client& client,
                                                       const WorkerProcess& worker) {
  const messages::Stats stats = worker.stats(client);
  EXPECT_EQ(stats.queue_pairs.size(), 1U) << worker.reference();
  if (stats.queue_pairs.size() != 1) {
    return std::nullopt;
  }
  return stats.queue_pairs[0].queue_pair;
}

bool has_no_pairs(Client& client, const WorkerProcess& worker) {
  return worker.stats(client).queue_pairs.empty();
}

class Connecting : public ::testing::Test {
 protected:
  void expect_one_connected_pair() {
    const auto of_left = only_pair(client_, left_);
    const auto of_right = only_pair(client_, right_);
    ASSERT_TRUE(of_left && of_right);
    EXPECT_EQ(of_left->state, ready_to_send);
    EXPECT_EQ(of_right->state, ready_to_send);
    EXPECT_EQ(of_left->peer_qp_num, of_right->qp_num);
    EXPECT_EQ(of_right->peer_qp_num, of_left->qp_num);
  }

  void expect_bytes_move_both_ways(std::uint64_t seed) {
    const auto to_right = pattern(payload, seed);
    const auto to_left = pattern(payload, seed + 1);
    write_memory(left_.pid(), left_out_.addr, to_right);
    write_memory(right_.pid(), right_out_.addr, to_left);
    EXPECT_THAT(ask(client_, left_.ref(), transfer("put", {"out"}, right_in_, 0, payload)),
                Succeeds());
    EXPECT_THAT(ask(client_, right_.ref(), transfer("put", {"out"}, left_in_, 0, payload)),
                Succeeds());
    EXPECT_EQ(read_memory(right_.pid(), right_in_.addr, payload), to_right);
    EXPECT_EQ(read_memory(left_.pid(), left_in_.addr, payload), to_left);
  }

  Client client_;
  WorkerProcess left_{{.identity = "left", .buffers = {"in=4096", "out=4096"}}};
  WorkerProcess right_{{.identity = "right", .buffers = {"in=4096", "out=4096"}}};
  messages::RdmaBuffer left_in_ = left_.lookup(client_, "in");
  messages::RdmaBuffer left_out_ = left_.lookup(client_, "out");
  messages::RdmaBuffer right_in_ = right_.lookup(client_, "in");
  messages::RdmaBuffer right_out_ = right_.lookup(client_, "out");
};

TEST_F(Connecting, EachOtherAtOnceAHundredTimesMakesOnePairEachTime) {
  for (unsigned round = 0; round < 100 && !HasFailure(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    run_concurrently(2, [&](unsigned side) {
      const WorkerProcess& self = side == 0 ? left_ : right_;
      const WorkerProcess& other = side == 0 ? right_ : left_;
      EXPECT_THAT(ask(client_, self.ref(), pair_with(other.ref())), Succeeds());
    });
    expect_one_connected_pair();
    expect_bytes_move_both_ways(std::uint64_t{2} * round);
    EXPECT_THAT(ask(client_, left_.ref(), close_with(right_.ref())), Succeeds());
    EXPECT_TRUE(eventually([&] { return has_no_pairs(client_, left_); }));
    EXPECT_TRUE(eventually([&] { return has_no_pairs(client_, right_); }));
  }
}

TEST_F(Connecting, AHundredConcurrentRequestsForOnePairMakeOne) {
  std::mutex mutex;
  std::set<std::uint32_t> numbers;
  run_concurrently(100, [&](unsigned) {
    const auto pair = ask(client_, left_.ref(), pair_with(right_.ref()));
    EXPECT_THAT(pair, Succeeds());
    if (pair) {
      const std::lock_guard lock{mutex};
      numbers.insert(pair->qp_num);
    }
  });
  EXPECT_EQ(numbers.size(), 1U);
  expect_one_connected_pair();
  expect_bytes_move_both_ways(1);
}

TEST_F(Connecting, ClosePeerDestroysBothEnds) {
  ASSERT_THAT(ask(client_, left_.ref(), pair_with(right_.ref())), Succeeds());
  expect_one_connected_pair();
  // Asked of the side that did not connect.
  EXPECT_THAT(ask(client_, right_.ref(), close_with(left_.ref())), Succeeds());
  EXPECT_TRUE(has_no_pairs(client_, right_));
  EXPECT_TRUE(eventually([&] { return has_no_pairs(client_, left_); }));
  EXPECT_THAT(ask(client_, left_.ref(),
                  messages::GetQpState{
                      .other = right_.ref(), .self_device = "soft0", .other_device = "soft0"}),
              FailsWith(ErrorCode::not_found));
}

TEST_F(Connecting, ReleaseQueuePairIsAcknowledgedAndChangesNothing) {
  const auto pair = ask(client_, left_.ref(), pair_with(right_.ref()));
  ASSERT_THAT(pair, Succeeds());
  EXPECT_THAT(
      ask(client_, left_.ref(),
          messages::ReleaseQueuePair{
              .other = right_.ref(), .self_device = "soft0", .other_device = "soft0", .qp = *pair}),
      Succeeds());
  expect_one_connected_pair();
}

TEST_F(Connecting, AndClosingThreeHundredTimesLeavesNoFileOpen) {
  const auto cycle = [&] {
    EXPECT_THAT(ask(client_, left_.ref(), pair_with(right_.ref())), Succeeds());
    expect_bytes_move_both_ways(3);
    EXPECT_THAT(ask(client_, left_.ref(), close_with(right_.ref())), Succeeds());
    EXPECT_TRUE(eventually([&] { return has_no_pairs(client_, right_); }));
  };
  const auto settled = [&](const WorkerProcess& worker, std::size_t count) {
    return eventually([&] { return open_files(worker.pid()) <= count; }, Deadline{10s});
  };
  cycle();  // opens what stays open: the dealers to each other
  // A closed connection's file goes once its peer's end is seen to be gone, so the number at rest
  // is the lowest one seen.
  std::size_t left_files = open_files(left_.pid());
  std::size_t right_files = open_files(right_.pid());
  constexpr unsigned looks = 50;
  for (unsigned look = 0; look < looks; ++look) {
    left_files = std::min(left_files, open_files(left_.pid()));
    right_files = std::min(right_files, open_files(right_.pid()));
    EXPECT_TRUE(left_.answers(client_) && right_.answers(client_));
  }
  constexpr std::uint64_t tolerated_growth = 32U << 20U;
  const std::uint64_t memory = resident_size(left_.pid());
  for (unsigned i = 0; i < 300 && !HasFailure(); ++i) {
    cycle();
  }
  EXPECT_TRUE(settled(left_, left_files)) << open_files(left_.pid()) << " against " << left_files;
  EXPECT_TRUE(settled(right_, right_files))
      << open_files(right_.pid()) << " against " << right_files;
  EXPECT_LT(resident_size(left_.pid()), memory + tolerated_growth);
}

TEST(ConnectStorm, OfAThousandHandshakesFailsNone) {
  constexpr unsigned devices = 32;  // 32 × 32 pairs between two managers
  constexpr unsigned callers = 32;
  Client client;
  const WorkerProcess left{
      {.identity = "left", .arguments = {"--soft-devices", std::to_string(devices)}}};
  const WorkerProcess right{
      {.identity = "right", .arguments = {"--soft-devices", std::to_string(devices)}}};
  std::atomic<unsigned> connected = 0;
  run_concurrently(callers, [&](unsigned caller) {
    const std::string self_device = "soft" + std::to_string(caller);
    for (unsigned i = 0; i < devices; ++i) {
      // Half of them from either side.
      const bool from_left = (caller + i) % 2 == 0;
      const auto pair =
          ask(client, (from_left ? left : right).ref(),
              pair_with((from_left ? right : left).ref(), self_device, "soft" + std::to_string(i)));
      EXPECT_THAT(pair, Succeeds());
      if (pair && pair->state == ready_to_send) {
        ++connected;
      }
    }
  });
  EXPECT_EQ(connected, devices * callers);
  EXPECT_TRUE(left.answers(client));
  EXPECT_TRUE(right.answers(client));
}

TEST(FailedConnect, LeavesNothingBehindAndIsRetriedByTheNextRequest) {
  Client client;
  const WorkerProcess left{{.identity = "left"}};
  messages::ActorRef absent;
  {
    const WorkerProcess gone{{.identity = "right"}};
    absent = gone.ref();
  }
  run_concurrently(20, [&](unsigned) {
    EXPECT_THAT(ask(client, left.ref(), pair_with(absent)), FailsWith(ErrorCode::unreachable));
  });
  EXPECT_TRUE(has_no_pairs(client, left));

  const WorkerProcess right{{.identity = "right", .bind = absent.at}};
  const auto pair = ask(client, left.ref(), pair_with(right.ref()));
  ASSERT_THAT(pair, Succeeds());
  EXPECT_EQ(pair->state, ready_to_send);
  EXPECT_TRUE(only_pair(client, left).has_value());
  EXPECT_TRUE(only_pair(client, right).has_value());
}

TEST(FailedConnect, ByTimeoutLeavesNothingAtThePeerEither) {
  Client client;
  const WorkerProcess left{{.identity = "left"}};
  WorkerProcess right{{.identity = "right"}};
  right.process().signal(SIGSTOP);
  // The device is named, so that the first message to the peer is the handshake itself.
  EXPECT_THAT(ask(client, left.ref(), pair_with(right.ref(), "soft0", "soft0"), 1s),
              FailsWith(ErrorCode::timeout));
  // The manager's own deadline is a moment after the client's.
  EXPECT_TRUE(eventually([&] { return has_no_pairs(client, left); }));
  right.process().signal(SIGCONT);
  // What was sent to it while it was stopped, it reads before this.
  EXPECT_TRUE(right.answers(client));
  EXPECT_TRUE(eventually([&] { return has_no_pairs(client, right); }));
  EXPECT_THAT(ask(client, left.ref(), pair_with(right.ref())), Succeeds());
}

}  // namespace
}  // namespace danaus::integration
