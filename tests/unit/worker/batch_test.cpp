// Batch of the public API: what it takes, what it refuses, how it fails and how often it serves.
#include "danaus/batch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <optional>
#include <thread>

#include "silent_listener.hpp"
#include "test_workers.hpp"

namespace danaus {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using testing::code_name;
using testing::config_of;
using testing::content;
using testing::error_of;
using testing::fill;
using ::testing::HasSubstr;
using testing::patience;
using testing::pattern;
using testing::SilentListener;

/// One worker that submits and three to move bytes to and from.
class BatchTest : public ::testing::Test {
 protected:
  static constexpr std::size_t peers = 3;

  [[nodiscard]] Worker& peer(std::size_t which) { return *workers_[which]; }

  /// How each operation of the last submit ended: its code's name, "" for success.
  static std::vector<std::string> ends(const Batch& batch) {
    std::vector<std::string> names;
    for (const BatchOutcome& one : batch.outcomes()) {
      names.emplace_back(one.outcome ? "" : to_string(one.outcome.error().code()));
    }
    return names;
  }

  Worker a_{config_of("a")};
  std::vector<std::unique_ptr<Worker>> workers_ = [] {
    std::vector<std::unique_ptr<Worker>> all;
    for (std::size_t which = 0; which < peers; ++which) {
      all.push_back(std::make_unique<Worker>(config_of("peer-" + std::to_string(which))));
    }
    return all;
  }();
};

TEST_F(BatchTest, WithoutOperationsDoesNothing) {
  Batch batch = a_.batch();
  EXPECT_TRUE(batch.empty());
  EXPECT_NO_THROW(batch.submit(patience));
  EXPECT_TRUE(batch.outcomes().empty());
}

TEST_F(BatchTest, OfOneOperationMovesItsBytes) {
  Buffer local = a_.allocate_buffer(5000);
  Buffer remote = peer(0).allocate_buffer(5000);
  fill(local, pattern(5000, 1));
  Batch batch = a_.batch();
  batch.put(local, remote.remote()).submit(patience);
  EXPECT_EQ(content(remote), pattern(5000, 1));
  const auto outcomes = batch.outcomes();
  ASSERT_EQ(outcomes.size(), 1U);
  EXPECT_EQ(outcomes[0].index, 0U);
  EXPECT_EQ(outcomes[0].operation, BatchOperation::put);
  EXPECT_EQ(outcomes[0].peer, "peer-0");
  EXPECT_EQ(outcomes[0].bytes, 5000U);
  EXPECT_TRUE(outcomes[0].outcome);
}

TEST_F(BatchTest, PutsToAndGetsFromManyPeersAtOnce) {
  constexpr std::size_t size = 300'000;
  Buffer out = a_.allocate_buffer(peers * size);
  Buffer in = a_.allocate_buffer(peers * size);
  fill(out, pattern(peers * size, 2));
  std::vector<Buffer> targets;
  std::vector<Buffer> sources;
  Batch batch = a_.batch();
  std::vector<std::byte> expected;
  for (std::size_t which = 0; which < peers; ++which) {
    const auto bytes = pattern(size, 10 + static_cast<unsigned>(which));
    targets.push_back(peer(which).allocate_buffer(size));
    sources.push_back(peer(which).allocate_buffer(size));
    fill(sources.back(), bytes);
    std::ranges::copy(bytes, std::back_inserter(expected));
    batch.put(out.slice(which * size, size), targets.back().remote())
        .get(in.slice(which * size, size), sources.back().remote());
  }
  EXPECT_EQ(batch.size(), 2 * peers);
  batch.submit(patience);
  EXPECT_EQ(content(in), expected);
  for (std::size_t which = 0; which < peers; ++which) {
    EXPECT_TRUE(
        std::ranges::equal(targets[which].memory(), out.memory().subspan(which * size, size)));
  }
}

TEST_F(BatchTest, OfMoreOperationsThanASendQueueHoldsCompletesThemAll) {
  constexpr std::size_t each = 2000;  // a send queue holds 512
  constexpr std::size_t piece = 16;
  Buffer out = a_.allocate_buffer(peers * each * piece);
  Buffer back = a_.allocate_buffer(peers * each * piece);
  fill(out, pattern(peers * each * piece, 3));
  std::vector<Buffer> remotes;
  for (std::size_t which = 0; which < peers; ++which) {
    remotes.push_back(peer(which).allocate_buffer(each * piece));
  }
  Batch batch = a_.batch();
  for (std::size_t index = 0; index < peers * each; ++index) {
    const auto remote = remotes[index % peers].remote().slice(index / peers * piece, piece);
    batch.put(out.slice(index * piece, piece), remote)
        .get(back.slice(index * piece, piece), remote);
  }
  batch.submit(patience);
  EXPECT_EQ(content(back), content(out)) << "a get follows the put before it to the same peer";
  EXPECT_EQ(ends(batch), std::vector<std::string>(2 * peers * each));
}

TEST_F(BatchTest, MayMoveNothing) {
  Buffer local = a_.allocate_buffer(8);
  Buffer remote = peer(0).allocate_buffer(8);
  Batch batch = a_.batch();
  batch.get(local.slice(8, 0), remote.remote().slice(8, 0))
      .put(local.slice(0, 0), remote.remote())
      .get(local, remote.remote());
  EXPECT_NO_THROW(batch.submit(patience));
}

TEST_F(BatchTest, DoesTheSameAgainWhenSubmittedAgain) {
  Buffer local = a_.allocate_buffer(64);
  Buffer remote = peer(0).allocate_buffer(64);
  Batch batch = a_.batch();
  batch.put(local, remote.remote());
  for (unsigned seed = 0; seed < 5; ++seed) {
    fill(local, pattern(64, seed));
    batch.submit(patience);
    EXPECT_EQ(content(remote), pattern(64, seed));
  }
}

TEST_F(BatchTest, MayGrowBetweenSubmits) {
  Buffer local = a_.allocate_buffer(64);
  Buffer remote = peer(0).allocate_buffer(64);
  Buffer other = peer(1).allocate_buffer(64);
  fill(local, pattern(64, 4));
  Batch batch = a_.batch();
  batch.put(local, remote.remote()).submit(patience);
  batch.put(local, other.remote());
  EXPECT_EQ(batch.outcomes().size(), 1U) << "those of the last submit";
  batch.submit(patience);
  EXPECT_EQ(content(other), pattern(64, 4));
  batch.clear();
  EXPECT_TRUE(batch.empty());
  EXPECT_TRUE(batch.outcomes().empty());
}

TEST_F(BatchTest, BringsWhatAtomicsFoundInTheOrderOfAdding) {
  constexpr std::size_t atomics = 700;  // a send queue holds 512
  Buffer remote = peer(0).allocate_buffer(16);
  Buffer back = a_.allocate_buffer(16);
  Batch batch = a_.batch();
  for (std::size_t index = 0; index < atomics; ++index) {
    batch.fetch_add(remote.remote(), 8, 3);
  }
  batch.compare_swap(remote.remote(), 8, 3 * atomics, 42)
      .compare_swap(remote.remote(), 8, 43, 1)
      .get(back, remote.remote());
  batch.submit(patience);
  const auto outcomes = batch.outcomes();
  for (std::size_t index = 0; index < atomics; ++index) {
    ASSERT_EQ(outcomes[index].value, 3 * index);
    ASSERT_EQ(outcomes[index].operation, BatchOperation::fetch_add);
    ASSERT_EQ(outcomes[index].bytes, 8U);
  }
  EXPECT_EQ(outcomes[atomics].value, 3 * atomics);
  EXPECT_EQ(outcomes[atomics + 1].value, 42U) << "another value than it expected";
  EXPECT_EQ(outcomes[atomics + 1].operation, BatchOperation::compare_swap);
  EXPECT_EQ(std::to_integer<int>(back.memory()[8]), 42);
}

// -- what is refused when added
// --------------------------------------------------------------------

TEST_F(BatchTest, RefusesASmallerDestinationAtOnceAndAddsNothing) {
  Buffer small = a_.allocate_buffer(10);
  Buffer large = a_.allocate_buffer(30);
  Buffer remote = peer(0).allocate_buffer(20);
  Batch batch = a_.batch();
  EXPECT_EQ(code_name(error_of([&] { batch.put(large, remote.remote()); })), "SizeMismatch");
  EXPECT_EQ(code_name(error_of([&] { batch.get(small, remote.remote()); })), "SizeMismatch");
  EXPECT_TRUE(batch.empty());
  batch.put(small, remote.remote()).get(large, remote.remote());
  EXPECT_EQ(batch.size(), 2U);
}

TEST_F(BatchTest, RefusesABufferOfAnotherWorker) {
  Buffer local = peer(1).allocate_buffer(64);
  Buffer remote = peer(0).allocate_buffer(64);
  Batch batch = a_.batch();
  EXPECT_EQ(code_name(error_of([&] { batch.put(local, remote.remote()); })), "InvalidArgument");
}

TEST_F(BatchTest, RefusesATransportThatIsNotHere) {
  Buffer local = a_.allocate_buffer(64);
  messages::RdmaBuffer on_nic = peer(0).allocate_buffer(64).remote().wire();
  on_nic.transport = "verbs";
  on_nic.alternates.clear();
  Batch batch = a_.batch();
  EXPECT_EQ(code_name(error_of([&] { batch.get(local, RemoteBuffer{on_nic}); })),
            "TransportMismatch");
}

TEST_F(BatchTest, RefusesAtomicsOutOfRangeOrOutOfStep) {
  Buffer remote = peer(0).allocate_buffer(16);
  Batch batch = a_.batch();
  EXPECT_EQ(code_name(error_of([&] { batch.fetch_add(remote.remote(), 9, 1); })), "OutOfRange");
  EXPECT_EQ(code_name(error_of([&] { batch.compare_swap(remote.remote(), 4, 1, 2); })),
            "InvalidArgument");
  EXPECT_TRUE(batch.empty());
}

TEST_F(BatchTest, RefusesTwoGetsIntoTheSameBytesAndNamesBoth) {
  Buffer local = a_.allocate_buffer(100);
  Buffer remote = peer(0).allocate_buffer(50);
  Buffer other = peer(1).allocate_buffer(50);
  Batch batch = a_.batch();
  batch.get(local.slice(0, 50), remote.remote());
  const Error error = error_of([&] { batch.get(local.slice(49, 51), other.remote()); });
  EXPECT_EQ(code_name(error), "InvalidArgument");
  EXPECT_THAT(error.message(), AllOf(HasSubstr("get 0 "), HasSubstr("peer-0"), HasSubstr("get 1 "),
                                     HasSubstr("peer-1")));
  EXPECT_EQ(batch.size(), 1U);
  EXPECT_NO_THROW(batch.get(local.slice(50, 50), other.remote())) << "neighbours do not overlap";
}

TEST_F(BatchTest, RefusesAGetIntoWhatAPutReadsWhicheverIsAddedFirst) {
  Buffer local = a_.allocate_buffer(100);
  Buffer remote = peer(0).allocate_buffer(50);
  Batch get_last = a_.batch();
  get_last.put(local.slice(60, 5), remote.remote()).put(local.slice(20, 30), remote.remote());
  const Error last = error_of([&] { get_last.get(local.slice(0, 50), remote.remote()); });
  EXPECT_THAT(last.message(), AllOf(HasSubstr("get 2 "), HasSubstr("put 1 ")));
  Batch put_last = a_.batch();
  put_last.get(local.slice(0, 50), remote.remote());
  const Error first = error_of([&] { put_last.put(local.slice(49, 1), remote.remote()); });
  EXPECT_THAT(first.message(), AllOf(HasSubstr("put 1 "), HasSubstr("get 0 ")));
}

TEST_F(BatchTest, LooksAtTheBytesThatMoveRatherThanAtTheSlices) {
  Buffer local = a_.allocate_buffer(100);
  Buffer remote = peer(0).allocate_buffer(10);
  Batch batch = a_.batch();
  batch.get(local, remote.remote());  // fills 10 of 100
  EXPECT_NO_THROW(batch.get(local.slice(10, 90), remote.remote()));
  EXPECT_NO_THROW(batch.get(local.slice(5, 0), remote.remote().slice(0, 0)));
}

TEST_F(BatchTest, LetsPutsReadTheSameBytes) {
  Buffer local = a_.allocate_buffer(64);
  Buffer first = peer(0).allocate_buffer(64);
  Buffer second = peer(1).allocate_buffer(64);
  fill(local, pattern(64, 5));
  a_.batch().put(local, first.remote()).put(local, second.remote()).submit(patience);
  EXPECT_EQ(content(first), pattern(64, 5));
  EXPECT_EQ(content(second), pattern(64, 5));
}

// -- how it fails
// ----------------------------------------------------------------------------------

TEST_F(BatchTest, TellsTheCauseAndLeavesOtherPeersAlone) {
  Buffer local = a_.allocate_buffer(64);
  Buffer first = peer(0).allocate_buffer(64);
  Buffer second = peer(1).allocate_buffer(64);
  fill(local, pattern(64, 6));
  messages::RdmaBuffer forged = first.remote().wire();
  forged.rkey ^= 1;
  Batch batch = a_.batch();
  batch.put(local, first.remote()).put(local, RemoteBuffer{forged});
  for (int count = 0; count < 10; ++count) {
    batch.put(local, first.remote()).put(local, second.remote());
  }
  const Error error = error_of([&] { batch.submit(patience); });
  EXPECT_EQ(code_name(error), "RemoteAccessError");
  EXPECT_THAT(error.message(),
              AllOf(HasSubstr("11 of 22"), HasSubstr("put 1 "), HasSubstr("peer-0")));
  const auto all = ends(batch);
  EXPECT_EQ(all[0], "");
  EXPECT_EQ(all[1], "RemoteAccessError");
  for (std::size_t index = 2; index < all.size(); ++index) {
    if (index % 2 == 1) {
      EXPECT_EQ(all[index], "") << "to the other peer";
    } else {
      // Refused, where the queue pair was known to be broken before it could be posted.
      EXPECT_THAT(all[index], AnyOf("QueuePairReset", "InvalidQueuePairState"));
    }
  }
  EXPECT_EQ(content(second), pattern(64, 6));
}

TEST_F(BatchTest, ServesAgainOverANewQueuePairAfterAFailure) {
  Buffer local = a_.allocate_buffer(64);
  auto released = std::make_unique<Buffer>(peer(0).allocate_buffer(64));
  Buffer lasting = peer(0).allocate_buffer(64);
  fill(local, pattern(64, 7));
  Batch batch = a_.batch();
  batch.put(local, lasting.remote()).put(local, released->remote());
  EXPECT_NO_THROW(batch.submit(patience));
  released.reset();
  EXPECT_EQ(code_name(error_of([&] { batch.submit(patience); })), "RemoteAccessError");
  EXPECT_EQ(code_name(error_of([&] { batch.submit(patience); })), "RemoteAccessError")
      << "the broken queue pair was replaced, the buffer is as gone as before";
  a_.batch().put(local, lasting.remote()).submit(patience);
  EXPECT_EQ(content(lasting), pattern(64, 7));
}

TEST_F(BatchTest, WithALocalBufferThatWasReleasedFails) {
  Buffer local = a_.allocate_buffer(64);
  Buffer remote = peer(0).allocate_buffer(64);
  fill(remote, pattern(64, 8));
  Batch batch = a_.batch();
  batch.put(local, remote.remote());
  local.release();
  EXPECT_EQ(code_name(error_of([&] { batch.submit(patience); })), "LocalProtectionError");
  EXPECT_EQ(content(remote), pattern(64, 8));
}

TEST_F(BatchTest, FailsAtDeadPeersAloneAndReachesTheOthers) {
  Buffer local = a_.allocate_buffer(64);
  fill(local, pattern(64, 9));
  const RemoteBuffer dead = peer(0).allocate_buffer(64).remote();
  Buffer second = peer(1).allocate_buffer(64);
  workers_[0].reset();
  Batch batch = a_.batch();
  batch.put(local, dead).put(local, second.remote());
  EXPECT_EQ(code_name(error_of([&] { batch.submit(patience); })), "Unreachable");
  EXPECT_EQ(ends(batch), (std::vector<std::string>{"Unreachable", ""}));
  EXPECT_EQ(content(second), pattern(64, 9));
}

TEST_F(BatchTest, WaitsForASilentPeerNoLongerThanItMayAndReachesTheOthersMeanwhile) {
  const SilentListener silent;
  Buffer local = a_.allocate_buffer(64);
  fill(local, pattern(64, 10));
  Buffer second = peer(1).allocate_buffer(64);
  Buffer third = peer(2).allocate_buffer(64);
  messages::RdmaBuffer unheard = second.remote().wire();
  unheard.owner = {.id = "silent", .at = silent.endpoint()};
  a_.put(local, third.remote(), patience);  // one is connected already, one is not
  std::ranges::fill(third.memory(), std::byte{});
  Batch batch = a_.batch();
  batch.put(local, RemoteBuffer{unheard}).put(local, second.remote()).put(local, third.remote());
  EXPECT_EQ(code_name(error_of([&] { batch.submit(std::chrono::seconds{3}); })), "Timeout");
  EXPECT_EQ(ends(batch), (std::vector<std::string>{"Timeout", "", ""}));
  EXPECT_EQ(content(second), pattern(64, 10));
  EXPECT_EQ(content(third), pattern(64, 10));
}

TEST_F(BatchTest, IsStaleAtARestartedPeerAndServesWithItsNewHandles) {
  Buffer local = a_.allocate_buffer(64);
  fill(local, pattern(64, 11));
  const std::string endpoint = peer(0).ref().at;
  Buffer other = peer(1).allocate_buffer(64);
  Batch batch = a_.batch();
  {
    Buffer target = peer(0).allocate_buffer(64);
    batch.put(local, target.remote()).put(local, other.remote());
    batch.submit(patience);
  }
  workers_[0].reset();
  workers_[0] = std::make_unique<Worker>(config_of("peer-0", endpoint));
  std::ranges::fill(other.memory(), std::byte{});
  EXPECT_EQ(code_name(error_of([&] { batch.submit(patience); })), "StalePeer");
  EXPECT_EQ(ends(batch), (std::vector<std::string>{"StalePeer", ""}));
  EXPECT_EQ(content(other), pattern(64, 11));
  Buffer target = peer(0).allocate_buffer(64);
  a_.batch().put(local, target.remote()).submit(patience);
  EXPECT_EQ(content(target), pattern(64, 11));
}

// -- threads and lives
// -----------------------------------------------------------------------------

TEST_F(BatchTest, IsBusyForOtherThreadsWhileItIsSubmitted) {
  SilentListener silent;
  Buffer local = a_.allocate_buffer(64);
  messages::RdmaBuffer unheard = peer(0).allocate_buffer(64).remote().wire();
  unheard.owner = {.id = "silent", .at = silent.endpoint()};
  Batch batch = a_.batch();
  batch.put(local, RemoteBuffer{unheard});
  auto submitting = std::async(std::launch::async, [&] {
    return code_name(error_of([&] { batch.submit(std::chrono::seconds{3}); }));
  });
  silent.wait_for_connection();  // so the submit is under way
  EXPECT_EQ(code_name(error_of([&] { batch.put(local, RemoteBuffer{unheard}); })), "Busy");
  EXPECT_EQ(code_name(error_of([&] { batch.submit(patience); })), "Busy");
  EXPECT_EQ(code_name(error_of([&] { batch.clear(); })), "Busy");
  EXPECT_EQ(code_name(error_of([&] { static_cast<void>(batch.outcomes()); })), "Busy");
  EXPECT_EQ(submitting.get(), "Timeout");
  EXPECT_EQ(batch.size(), 1U);
}

TEST_F(BatchTest, OfSeveralThreadsShareQueuePairs) {
  constexpr unsigned threads = 4;
  constexpr unsigned rounds = 10;
  constexpr std::size_t pieces = 60;
  constexpr std::size_t piece = 700;
  constexpr std::size_t share = pieces * piece;
  Buffer out = a_.allocate_buffer(threads * share);
  Buffer back = a_.allocate_buffer(threads * share);
  std::vector<Buffer> remotes;
  for (std::size_t which = 0; which < peers; ++which) {
    remotes.push_back(peer(which).allocate_buffer(threads * share));
  }
  fill(out, pattern(threads * share, 12));
  std::vector<std::jthread> runners;
  for (unsigned thread = 0; thread < threads; ++thread) {
    runners.emplace_back([&, start = thread * share] {
      Batch batch = a_.batch();
      for (std::size_t index = 0; index < pieces; ++index) {
        const std::size_t at = start + index * piece;
        const auto remote = remotes[index % peers].remote().slice(at, piece);
        batch.put(out.slice(at, piece), remote).get(back.slice(at, piece), remote);
      }
      for (unsigned round = 0; round < rounds; ++round) {
        std::ranges::fill(back.memory().subspan(start, share), std::byte{});
        batch.submit(patience);
        EXPECT_TRUE(std::ranges::equal(back.memory().subspan(start, share),
                                       out.memory().subspan(start, share)));
      }
    });
  }
  runners.clear();
  EXPECT_EQ(content(back), content(out));
}

TEST_F(BatchTest, MayOutliveItsBuffers) {
  Buffer remote = peer(0).allocate_buffer(64);
  std::optional<Batch> batch{a_.batch()};
  {
    std::vector<std::byte> memory = pattern(64, 13);
    Buffer local = a_.register_buffer(memory);
    batch->put(local, remote.remote()).submit(patience);
  }
  EXPECT_EQ(content(remote), pattern(64, 13));
  EXPECT_EQ(ends(*batch), std::vector<std::string>(1));
  batch.reset();
}

TEST(BatchAndItsWorker, ThatIsGoneSaysSo) {
  auto a = std::make_unique<Worker>(config_of("a"));
  Worker b{config_of("b")};
  Buffer remote = b.allocate_buffer(64);
  Batch batch = a->batch();
  {
    Buffer local = a->allocate_buffer(64);
    batch.put(local, remote.remote());
  }
  a.reset();
  EXPECT_EQ(code_name(error_of([&] { batch.submit(patience); })), "ShuttingDown");
}

TEST(BatchAndItsWorker, ThatEndsIsToldAndLeaves) {
  SilentListener silent;
  auto a = std::make_unique<Worker>(config_of("a"));
  Worker b{config_of("b")};
  Buffer remote = b.allocate_buffer(64);
  messages::RdmaBuffer unheard = remote.remote().wire();
  unheard.owner = {.id = "silent", .at = silent.endpoint()};
  Batch batch = a->batch();
  std::vector<std::byte> memory(64);
  auto local = std::make_unique<Buffer>(a->register_buffer(memory));
  batch.put(*local, RemoteBuffer{unheard});
  auto submitting = std::async(std::launch::async, [&] {
    return code_name(error_of([&] { batch.submit(std::chrono::hours{1}); }));
  });
  silent.wait_for_connection();
  local.reset();
  a.reset();
  EXPECT_EQ(submitting.get(), "ShuttingDown");
}

}  // namespace
}  // namespace danaus
