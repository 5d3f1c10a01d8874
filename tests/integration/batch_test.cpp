// Batches between processes: peers that are killed, stopped or start anew in the midst of them.
#include <gtest/gtest.h>
#include <signal.h>

#include <cstddef>
#include <future>
#include <optional>

#include "tests/integration/harness/calls.hpp"
#include "tests/integration/paths.hpp"

namespace danaus::integration {
namespace {

constexpr std::size_t batch_sample = 4096;
/// Long enough that it is still under way when its first bytes have been seen.
constexpr std::size_t long_piece = std::size_t{1} << 30U;
constexpr std::size_t short_piece = std::size_t{1} << 20U;

/// A batch that moves much to or from one peer, little to and from another.
class BatchOfTwoPeers : public ::testing::TestWithParam<Path> {
 protected:
  [[nodiscard]] static RemoteBuffer buffer_of(Client& client, const WorkerProcess& worker) {
    return RemoteBuffer{worker.lookup(client, "data")};
  }

  /// Submits and stops the disturbed peer when its first bytes have arrived.
  [[nodiscard]] std::future<std::expected<void, Error>> submit_and_stop_the_peer(
      Batch& batch, std::chrono::milliseconds timeout) {
    const auto first = pattern(batch_sample, 1);
    std::ranges::copy(first, large_.memory().begin());
    auto outcome = std::async(
        std::launch::async, [&batch, timeout] { return attempt([&] { batch.submit(timeout); }); });
    EXPECT_TRUE(eventually(
        [&] { return read_memory(disturbed_.pid(), far_.wire().addr, batch_sample) == first; }));
    disturbed_.process().signal(SIGSTOP);
    EXPECT_EQ(outcome.wait_for(0s), std::future_status::timeout) << "it was over too soon";
    return outcome;
  }

  /// A long put to the peer that is disturbed; puts and gets of short pieces with the other.
  [[nodiscard]] Batch large_and_small() {
    Batch batch = worker_.batch();
    batch.put(large_, far_);
    for (std::size_t index = 0; index < pieces; ++index) {
      const std::size_t at = index * piece;
      batch.put(out_.slice(at, piece), near_.slice(at, piece))
          .get(back_.slice(at, piece), near_.slice(at, piece));
    }
    std::ranges::copy(pattern(short_piece, 2), out_.memory().begin());
    return batch;
  }

  void expect_the_other_was_served(const Batch& batch) {
    for (const BatchOutcome& one : batch.outcomes()) {
      if (one.peer == "other") {
        EXPECT_THAT(one.outcome, Succeeds());
      }
    }
    EXPECT_TRUE(std::ranges::equal(back_.memory(), out_.memory()));
    EXPECT_TRUE(read_memory(other_.pid(), near_.wire().addr, short_piece) ==
                pattern(short_piece, 2));
  }

  static constexpr std::size_t pieces = 1024;  // more than a send queue holds
  static constexpr std::size_t piece = short_piece / pieces;

  Client client_;
  WorkerProcess disturbed_{options_of("disturbed", GetParam(), {"data=1GiB"})};
  WorkerProcess other_{options_of("other", GetParam(), {"data=1MiB"})};
  RemoteBuffer far_ = buffer_of(client_, disturbed_);
  RemoteBuffer near_ = buffer_of(client_, other_);
  Worker worker_{embedded("embedded", GetParam())};
  Buffer large_ = worker_.allocate_buffer(long_piece);
  Buffer out_ = worker_.allocate_buffer(short_piece);
  Buffer back_ = worker_.allocate_buffer(short_piece);
};

TEST_P(BatchOfTwoPeers, ReportsAKilledPeerAtOnceAndServesTheOther) {
  Batch batch = large_and_small();
  auto outcome = submit_and_stop_the_peer(batch, 10min);
  disturbed_.process().signal(SIGKILL);
  ASSERT_EQ(outcome.wait_for(patience), std::future_status::ready);
  EXPECT_THAT(outcome.get(), FailsWith(ErrorCode::retry_exceeded));
  expect_the_other_was_served(batch);
}

TEST_P(BatchOfTwoPeers, EndsInTimeAtAStoppedPeerAndServesTheOther) {
  Batch batch = large_and_small();
  auto outcome = submit_and_stop_the_peer(batch, 5s);
  ASSERT_EQ(outcome.wait_for(patience), std::future_status::ready);
  EXPECT_THAT(outcome.get(), FailsWith(ErrorCode::timeout));
  EXPECT_THAT(batch.outcomes().front().outcome, FailsWith(ErrorCode::timeout));
  expect_the_other_was_served(batch);

  // Once it goes on, the same batch serves over a new queue pair.
  disturbed_.process().signal(SIGCONT);
  EXPECT_THAT(attempt([&] { batch.submit(patience); }), Succeeds());
  expect_the_other_was_served(batch);
  EXPECT_EQ(read_memory(disturbed_.pid(), far_.wire().addr, batch_sample),
            pattern(batch_sample, 1));
}

INSTANTIATE_TEST_SUITE_P(Over, BatchOfTwoPeers, ::testing::ValuesIn(all_paths()), name_of);

class BatchesAndRestarts : public ::testing::TestWithParam<Path> {};

TEST_P(BatchesAndRestarts, FailWithAReasonOrMoveEveryByte) {
  constexpr unsigned lives = 4;
  constexpr unsigned good_batches_a_life = 20;
  constexpr std::size_t size = std::size_t{256} << 10U;
  Client client;
  const WorkerProcess steady{options_of("steady", GetParam(), {"data=256KiB"})};
  const RemoteBuffer steady_buffer{steady.lookup(client, "data")};
  std::optional<WorkerProcess> restarting{std::in_place,
                                          options_of("restarting", GetParam(), {"data=256KiB"})};
  const messages::ActorRef ref = restarting->ref();

  Worker worker{embedded("embedded", GetParam())};
  Buffer out = worker.allocate_buffer(size);
  Buffer back = worker.allocate_buffer(2 * size);
  for (unsigned life = 0; life < lives; ++life) {
    const RemoteBuffer handle{restarting->lookup(client, "data")};
    Batch batch = worker.batch();
    batch.put(out, handle)
        .put(out, steady_buffer)
        .get(back.slice(0, size), handle)
        .get(back.slice(size, size), steady_buffer);
    // Killed from another thread at some batch or other; then this life's handle is good for
    // nothing.
    std::atomic<unsigned> good = 0;
    const std::jthread killer{[&] {
      EXPECT_TRUE(eventually([&] { return good >= good_batches_a_life; }));
      restarting->process().signal(SIGKILL);
    }};
    std::expected<void, Error> last;
    for (unsigned round = 0; last; ++round) {
      const auto bytes = pattern(size, life * 1'000'000 + round);
      std::ranges::copy(bytes, out.memory().begin());
      last = attempt([&] { batch.submit(patience); });
      const auto outcomes = batch.outcomes();
      EXPECT_THAT(outcomes[1].outcome, Succeeds());
      EXPECT_THAT(outcomes[3].outcome, Succeeds());
      EXPECT_TRUE(std::ranges::equal(back.memory().subspan(size, size), bytes));
      if (outcomes[0].outcome && outcomes[2].outcome) {
        EXPECT_TRUE(std::ranges::equal(back.memory().first(size), bytes));
        ++good;
      }
    }
    ASSERT_TRUE(restarting->process().wait_for_exit().has_value());
    EXPECT_THAT(
        last.error().code(),
        ::testing::AnyOf(ErrorCode::retry_exceeded, ErrorCode::unreachable, ErrorCode::peer_lost,
                         ErrorCode::queue_pair_reset, ErrorCode::invalid_queue_pair_state))
        << last.error().message();
    restarting.emplace(options_of("restarting", GetParam(), {"data=256KiB"}, ref.at));
    EXPECT_THAT(attempt([&] { batch.submit(patience); }), FailsWith(ErrorCode::stale_peer));
  }
}

INSTANTIATE_TEST_SUITE_P(Over, BatchesAndRestarts, ::testing::ValuesIn(all_paths()), name_of);

}  // namespace
}  // namespace danaus::integration
