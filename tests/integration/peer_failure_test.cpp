// Peers that die, stop or start anew while bytes are on their way to or from them.
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <cstddef>
#include <future>

#include "tests/integration/harness/calls.hpp"

namespace danaus::integration {
namespace {

using TransferOutcome = std::expected<messages::TransferResult, Error>;

/// Long enough that a transfer of it is still under way when its first bytes have been seen.
constexpr std::uint64_t long_transfer = std::uint64_t{2} << 30U;
constexpr std::size_t sample = 4096;

struct Movement {
  std::string op;
  /// As `--soft-path` takes it.
  std::string path;
};

/// An active worker in the middle of a long transfer with a peer, which a test then disturbs.
class MidTransfer : public ::testing::TestWithParam<Movement> {
 protected:
  MidTransfer() {
    write_memory(source().pid(), source_buffer().addr, old_bytes_);
    write_memory(destination().pid(), destination_buffer().addr, std::vector<std::byte>(sample));
  }

  [[nodiscard]] bool is_put() const { return GetParam().op == "put"; }
  [[nodiscard]] const WorkerProcess& source() const { return is_put() ? active_ : peer_; }
  [[nodiscard]] const WorkerProcess& destination() const { return is_put() ? peer_ : active_; }
  [[nodiscard]] const messages::RdmaBuffer& source_buffer() const {
    return is_put() ? local_ : remote_;
  }
  [[nodiscard]] const messages::RdmaBuffer& destination_buffer() const {
    return is_put() ? remote_ : local_;
  }

  /// Starts the transfer, waits for its first bytes, stops the peer there.
  [[nodiscard]] std::future<TransferOutcome> start_and_stop_the_peer(
      std::chrono::milliseconds timeout) {
    auto outcome = std::async(std::launch::async, [this, timeout] {
      return ask(client_, active_.ref(),
                 transfer(GetParam().op, {"data"}, remote_, 0, long_transfer, timeout));
    });
    EXPECT_TRUE(eventually([&] {
      return read_memory(destination().pid(), destination_buffer().addr, sample) == old_bytes_;
    }));
    peer_.process().signal(SIGSTOP);
    EXPECT_EQ(outcome.wait_for(0s), std::future_status::timeout)
        << "the transfer was over before the peer could be stopped";
    return outcome;
  }

  Client client_;
  [[nodiscard]] static WorkerOptions options_of(const std::string& identity) {
    return {.identity = identity,
            .buffers = {"data=2GiB", "small=1MiB"},
            .arguments = {"--soft-path", GetParam().path}};
  }

  WorkerProcess active_{options_of("active")};
  WorkerProcess peer_{options_of("peer")};
  messages::RdmaBuffer local_ = active_.lookup(client_, "data");
  messages::RdmaBuffer remote_ = peer_.lookup(client_, "data");
  const std::vector<std::byte> old_bytes_ = pattern(sample, 11);
};

TEST_P(MidTransfer, AKilledPeerIsReportedAtOnceAndDisturbsNobodyElse) {
  const WorkerProcess bystander{{.identity = "bystander", .buffers = {"data=1MiB"}}};
  const messages::RdmaBuffer elsewhere = bystander.lookup(client_, "data");
  std::atomic<bool> done = false;
  auto undisturbed = std::async(std::launch::async, [&] {
    unsigned transfers = 0;
    while (!done) {
      EXPECT_THAT(ask(client_, active_.ref(), transfer("put", {"small"}, elsewhere, 0, 1U << 20U)),
                  Succeeds());
      ++transfers;
    }
    return transfers;
  });

  // The transfer's own deadline is far away: what ends it is the peer's death.
  auto outcome = start_and_stop_the_peer(10min);
  peer_.process().signal(SIGKILL);
  ASSERT_EQ(outcome.wait_for(patience), std::future_status::ready);
  EXPECT_THAT(outcome.get(), FailsWith(ErrorCode::retry_exceeded));

  done = true;
  EXPECT_GT(undisturbed.get(), 0U);
  EXPECT_THAT(ask(client_, active_.ref(), transfer("put", {"small"}, elsewhere, 0, 1U << 20U)),
              Succeeds());
  EXPECT_TRUE(active_.answers(client_));
}

TEST_P(MidTransfer, AStoppedPeerTimesOutAndNothingTouchesTheMemoryAfterwards) {
  auto outcome = start_and_stop_the_peer(3s);
  ASSERT_EQ(outcome.wait_for(patience), std::future_status::ready);
  if (!is_put() && GetParam().path == "copy") {
    // What a peer has granted can be read though it is stopped.
    EXPECT_THAT(outcome.get(), ::testing::AnyOf(Succeeds(), FailsWith(ErrorCode::timeout)));
  } else {
    EXPECT_THAT(outcome.get(), FailsWith(ErrorCode::timeout));
  }
  EXPECT_TRUE(active_.answers(client_));

  // The local memory is its owner's again: what is written to it now stays, and is not sent.
  const auto new_bytes = pattern(1U << 20U, 12);
  constexpr std::uint64_t far = std::uint64_t{1} << 30U;
  write_memory(active_.pid(), local_.addr, new_bytes);
  write_memory(active_.pid(), local_.addr + far, new_bytes);
  peer_.process().signal(SIGCONT);

  // Once the peer answers requests and moves bytes again, what it had been sent has been dealt
  // with.
  const messages::RdmaBuffer small = peer_.lookup(client_, "small");
  const auto fresh = pattern(1U << 20U, 13);
  write_memory(active_.pid(), active_.lookup(client_, "small").addr, fresh);
  ASSERT_THAT(ask(client_, active_.ref(), transfer("put", {"small"}, small, 0, 1U << 20U)),
              Succeeds());
  EXPECT_EQ(read_memory(peer_.pid(), small.addr, fresh.size()), fresh);
  EXPECT_TRUE(read_memory(active_.pid(), local_.addr, new_bytes.size()) == new_bytes);
  EXPECT_TRUE(read_memory(active_.pid(), local_.addr + far, new_bytes.size()) == new_bytes);
  if (is_put()) {
    EXPECT_EQ(read_memory(peer_.pid(), remote_.addr, sample), old_bytes_);
    EXPECT_NE(read_memory(peer_.pid(), remote_.addr + far, new_bytes.size()), new_bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(Of, MidTransfer,
                         ::testing::Values(Movement{"put", "tcp"}, Movement{"get", "tcp"},
                                           Movement{"put", "copy"}, Movement{"get", "copy"}),
                         [](const auto& test) { return test.param.op + "_" + test.param.path; });

/// How the first life of the peer ends.
class RestartedPeer : public ::testing::TestWithParam<int> {};

TEST_P(RestartedPeer, AtTheSameEndpointRefusesOldHandlesAndServesNewOnes) {
  Client client;
  const WorkerProcess active{{.identity = "active", .buffers = {"data=4096"}}};
  const WorkerOptions options{.identity = "peer", .buffers = {"data=4096"}};
  std::optional<WorkerProcess> peer;
  peer.emplace(options);
  const messages::ActorRef first_ref = peer->ref();
  const messages::RdmaBuffer old_handle = peer->lookup(client, "data");
  ASSERT_THAT(ask(client, active.ref(), transfer("put", {"data"}, old_handle, 0, 4096)),
              Succeeds());

  peer->process().signal(GetParam());
  ASSERT_TRUE(peer->process().wait_for_exit().has_value());
  WorkerOptions again = options;
  again.bind = first_ref.at;
  peer.emplace(again);
  ASSERT_EQ(peer->ref(), first_ref);

  const messages::RdmaBuffer new_handle = peer->lookup(client, "data");
  ASSERT_NE(new_handle.incarnation, old_handle.incarnation);
  const auto untouched = read_memory(peer->pid(), new_handle.addr, 4096);
  const auto bytes = pattern(4096, 21);
  write_memory(active.pid(), active.lookup(client, "data").addr, bytes);
  EXPECT_THAT(ask(client, active.ref(), transfer("put", {"data"}, old_handle, 0, 4096)),
              FailsWith(ErrorCode::stale_peer));
  EXPECT_EQ(read_memory(peer->pid(), new_handle.addr, 4096), untouched);

  ASSERT_THAT(ask(client, active.ref(), transfer("put", {"data"}, new_handle, 0, 4096)),
              Succeeds());
  EXPECT_EQ(read_memory(peer->pid(), new_handle.addr, 4096), bytes);
  EXPECT_EQ(active.stats(client).queue_pairs.size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(After, RestartedPeer, ::testing::Values(SIGKILL, SIGTERM),
                         [](const auto& test) {
                           return test.param == SIGKILL ? "ACrash" : "ACleanStop";
                         });

TEST(StoppedPeer, IsWaitedForByItsOwnRequestsAlone) {
  Client client;
  const WorkerProcess active{{.identity = "active"}};
  WorkerProcess stopped{{.identity = "stopped"}};
  const WorkerProcess other{{.identity = "other"}};
  stopped.process().signal(SIGSTOP);
  auto waiting = std::async(std::launch::async, [&] {
    return ask(client, active.ref(),
               messages::RequestQueuePair{
                   .other = stopped.ref(), .self_device = "soft0", .other_device = "soft0"});
  });
  // While that one waits for its peer, the manager serves the rest.
  for (unsigned i = 0; i < 20; ++i) {
    EXPECT_THAT(ask(client, active.ref(),
                    messages::RequestQueuePair{
                        .other = other.ref(), .self_device = "", .other_device = ""}),
                Succeeds());
  }
  EXPECT_EQ(waiting.wait_for(0s), std::future_status::timeout);
  stopped.process().signal(SIGCONT);
  ASSERT_EQ(waiting.wait_for(patience), std::future_status::ready);
  EXPECT_THAT(waiting.get(), Succeeds());
}

}  // namespace
}  // namespace danaus::integration
