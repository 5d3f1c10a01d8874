// Many threads, many queue pairs, and memory that its owner takes back while bytes move: every byte
// is compared.
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <future>
#include <memory>
#include <optional>
#include <random>
#include <thread>

#include "tests/integration/harness/calls.hpp"
#include "tests/integration/paths.hpp"

namespace danaus::integration {
namespace {

constexpr std::size_t some_kib = std::size_t{256} << 10U;

class Concurrency : public ::testing::TestWithParam<Path> {};

TEST_P(Concurrency, ManyThreadsOnOneQueuePairKeepTheirBytesApart) {
  constexpr unsigned threads = 8;
  constexpr unsigned rounds = 40;
  constexpr std::size_t share = some_kib;
  Client client;
  const WorkerProcess peer{options_of("peer", GetParam(), {"data=2MiB"})};
  const RemoteBuffer remote{peer.lookup(client, "data")};
  ASSERT_EQ(remote.size(), threads * share);
  Worker worker{embedded("embedded", GetParam())};
  Buffer out = worker.allocate_buffer(threads * share);
  Buffer back = worker.allocate_buffer(threads * share);
  QueuePair queue_pair = worker.queue_pair(remote, patience);
  EXPECT_EQ(queue_pair.path(), GetParam().name);

  run_concurrently(threads, [&](unsigned thread) {
    std::minstd_rand random{thread + 1};
    const std::size_t start = thread * share;
    for (unsigned round = 0; round < rounds; ++round) {
      const std::size_t offset = start + random() % (share / 2);
      const std::size_t length = 1 + random() % (share / 2);
      std::ranges::copy(pattern(length, thread * 1000 + round),
                        out.memory().subspan(offset, length).begin());
      const BufferSlice from = out.slice(offset, length);
      const BufferSlice into = back.slice(offset, length);
      const RemoteBuffer there = remote.slice(offset, length);
      switch (round % 3) {
        case 0:
          queue_pair.put(from, there, patience);
          queue_pair.get(into, there, patience);
          break;
        case 1: {
          const auto put = queue_pair.post_put(from, there);
          const auto get = queue_pair.post_get(into, there);
          queue_pair.wait(get, patience);
          queue_pair.wait(put, patience);
          break;
        }
        default:
          worker.batch().put(from, there).get(into, there).submit(patience);
      }
      ASSERT_TRUE(std::ranges::equal(from.memory(), into.memory()))
          << "thread " << thread << ", round " << round;
    }
  });
}

TEST_P(Concurrency, OneThreadDrivesManyQueuePairs) {
  constexpr std::size_t workers = 4;
  constexpr std::size_t pieces = 600;  // more than a send queue holds
  constexpr std::size_t piece = 501;
  Client client;
  Worker worker{embedded("embedded", GetParam())};
  Buffer out = worker.allocate_buffer(workers * pieces * piece);
  std::ranges::copy(pattern(out.size(), 1), out.memory().begin());
  std::vector<WorkerProcess> peers;
  std::vector<RemoteBuffer> remotes;
  std::vector<QueuePair> queue_pairs;
  for (std::size_t which = 0; which < workers; ++which) {
    peers.emplace_back(options_of("peer-" + std::to_string(which), GetParam(), {"data=512KiB"}));
    remotes.emplace_back(peers.back().lookup(client, "data"));
    queue_pairs.push_back(worker.queue_pair(remotes.back(), patience));
  }
  for (std::size_t index = 0; index < pieces; ++index) {
    for (std::size_t which = 0; which < workers; ++which) {
      static_cast<void>(
          queue_pairs[which].post_put(out.slice((which * pieces + index) * piece, piece),
                                      remotes[which].slice(index * piece, piece)));
    }
  }
  std::size_t over = 0;
  const Deadline deadline;
  while (over < workers * pieces) {
    std::vector<pollfd> ready;
    const std::size_t before = over;
    for (QueuePair& queue_pair : queue_pairs) {
      queue_pair.arm();
      for (const Completion& completion : queue_pair.poll()) {
        EXPECT_THAT(completion.outcome, Succeeds());
        ++over;
      }
      ready.push_back({.fd = queue_pair.fd(), .events = POLLIN, .revents = 0});
    }
    if (over == before) {
      ASSERT_FALSE(deadline.passed());
      ::poll(ready.data(), ready.size(), deadline.poll_timeout());
    }
  }
  for (std::size_t which = 0; which < workers; ++which) {
    const auto share = out.memory().subspan(which * pieces * piece, pieces * piece);
    EXPECT_TRUE(std::ranges::equal(
        read_memory(peers[which].pid(), remotes[which].wire().addr, share.size()), share));
  }
}

INSTANTIATE_TEST_SUITE_P(Over, Concurrency, ::testing::ValuesIn(all_paths()), name_of);

// -- memory that its owner takes back
// --------------------------------------------------------------

constexpr std::byte reused{0xA5};

// By what the C library does fast: tests are not optimised, and there is much to fill and to
// compare.
void fill_all(std::span<std::byte> memory, std::byte value) {
  std::memset(memory.data(), std::to_integer<int>(value), memory.size());
}

/// Whether the owner of `memory` who filled it with `reused` finds it so.
[[nodiscard]] bool is_as_its_owner_left_it(std::span<const std::byte> memory) {
  return memory.front() == reused &&
         std::memcmp(memory.data(), memory.data() + 1, memory.size() - 1) == 0;
}

[[nodiscard]] bool has_reused_bytes(std::span<const std::byte> memory) {
  return std::memchr(memory.data(), std::to_integer<int>(reused), memory.size()) != nullptr;
}

class ReleasedMemory : public ::testing::TestWithParam<Path> {
 protected:
  /// Who copies from another process finds afterwards whether that still offered what was copied:
  /// an operation that fails then may have left at its destination what its source has become.
  static bool copies_may_come_late() { return GetParam().config == SoftPath::copy; }

  /// Codes with which an operation may end whose memory, here or there, was taken from it.
  static bool is_fair(const std::expected<void, Error>& outcome) {
    using enum ErrorCode;
    return outcome || outcome.error().code() == local_protection_error ||
           outcome.error().code() == remote_access_error ||
           outcome.error().code() == queue_pair_reset ||
           outcome.error().code() == invalid_queue_pair_state;
  }
};

TEST_P(ReleasedMemory, OfThisSideIsNeitherWrittenNorPutAfterItsRelease) {
  constexpr unsigned rounds = 20;
  constexpr std::size_t size = std::size_t{8} << 20U;
  Worker a{embedded("a", GetParam(), "tcp://127.0.0.1:*")};
  Worker b{embedded("b", GetParam(), "tcp://127.0.0.1:*")};
  Buffer remote = b.allocate_buffer(size);
  std::vector<std::byte> memory(size);
  for (unsigned round = 0; round < rounds; ++round) {
    const bool is_put = round % 2 == 0;
    fill_all(memory, std::byte{1});
    fill_all(remote.memory(), std::byte{2});
    std::optional<Buffer> local{a.register_buffer(memory)};
    const BufferSlice slice = *local;
    std::promise<void> started;
    auto outcome = std::async(std::launch::async, [&] {
      QueuePair queue_pair = a.queue_pair(remote.remote(), patience);
      const auto id = is_put ? queue_pair.post_put(slice, remote.remote())
                             : queue_pair.post_get(slice, remote.remote());
      started.set_value();
      return attempt([&] { queue_pair.wait(id, patience); });
    });
    started.get_future().get();
    local->release();
    fill_all(memory, reused);
    const auto result = outcome.get();
    EXPECT_TRUE(is_fair(result)) << result.error().message();
    // A barrier: over the same connection, or over the one that took its place.
    Buffer fence = a.allocate_buffer(8);
    a.get(fence, remote.remote().slice(0, 8), patience);
    EXPECT_TRUE(is_as_its_owner_left_it(memory)) << "round " << round;
    if (is_put && !(copies_may_come_late() && !result)) {
      EXPECT_FALSE(has_reused_bytes(remote.memory())) << "round " << round;
    }
  }
}

TEST_P(ReleasedMemory, OfTheOtherSideIsNeitherWrittenNorGotAfterItsRelease) {
  constexpr unsigned rounds = 20;
  constexpr std::size_t size = std::size_t{8} << 20U;
  Worker a{embedded("a", GetParam(), "tcp://127.0.0.1:*")};
  Worker b{embedded("b", GetParam(), "tcp://127.0.0.1:*")};
  Buffer local = a.allocate_buffer(size);
  std::vector<std::byte> memory(size);
  for (unsigned round = 0; round < rounds; ++round) {
    const bool is_put = round % 2 == 0;
    fill_all(local.memory(), std::byte{1});
    fill_all(memory, std::byte{2});
    std::optional<Buffer> remote{b.register_buffer(memory)};
    const RemoteBuffer handle = remote->remote();
    std::promise<void> started;
    auto outcome = std::async(std::launch::async, [&] {
      Batch batch = a.batch();
      if (is_put) {
        batch.put(local, handle);
      } else {
        batch.get(local, handle);
      }
      started.set_value();
      return attempt([&] { batch.submit(patience); });
    });
    started.get_future().get();
    // Late enough that bytes have moved, in most rounds.
    const std::byte& first = is_put ? memory.front() : local.memory().front();
    std::atomic_ref<const std::byte> watched{first};
    EXPECT_TRUE(
        eventually([&] { return watched.load() == (is_put ? std::byte{1} : std::byte{2}); }));
    remote->release();
    fill_all(memory, reused);
    const auto result = outcome.get();
    EXPECT_TRUE(is_fair(result)) << result.error().message();
    Buffer fence = a.allocate_buffer(8);
    Buffer other = b.allocate_buffer(8);
    a.put(fence, other.remote(), patience);
    EXPECT_TRUE(is_as_its_owner_left_it(memory)) << "round " << round;
    if (!is_put && !(copies_may_come_late() && !result)) {
      EXPECT_FALSE(has_reused_bytes(local.memory())) << "round " << round;
    }
  }
}

/// The peer is stopped in the midst of a get, the get times out, its memory goes back.
TEST_P(ReleasedMemory, AfterATimeoutIsNotWrittenByWhatComesLate) {
  constexpr std::size_t size = std::size_t{256} << 20U;
  Client client;
  WorkerProcess peer{options_of("peer", GetParam(), {"data=256MiB", "small=4096"})};
  const RemoteBuffer remote{peer.lookup(client, "data")};
  const RemoteBuffer small{peer.lookup(client, "small")};
  write_memory(peer.pid(), remote.wire().addr, std::vector<std::byte>(4096, std::byte{1}));
  Worker worker{embedded("embedded", GetParam())};
  Buffer fence = worker.allocate_buffer(4096);
  for (const bool in_a_batch : {false, true}) {
    std::vector<std::byte> memory(size);
    std::optional<Buffer> local{worker.register_buffer(memory)};
    auto outcome = std::async(std::launch::async, [&] {
      return attempt([&] {
        if (in_a_batch) {
          worker.batch().get(*local, remote).get(fence, small).submit(3s);
        } else {
          worker.get(*local, remote, 3s);
        }
      });
    });
    std::atomic_ref<std::byte> first{memory.front()};
    EXPECT_TRUE(eventually([&] { return first.load() == std::byte{1}; }));
    peer.process().signal(SIGSTOP);
    const auto result = outcome.get();
    if (!(GetParam().config == SoftPath::copy && result)) {  // what is granted can be copied
      EXPECT_THAT(result, FailsWith(ErrorCode::timeout));
    }

    local->release();
    fill_all(memory, reused);
    peer.process().signal(SIGCONT);
    // The peer goes on, and has dealt with what it held for us before it serves this.
    worker.get(fence, small, patience);
    EXPECT_TRUE(peer.answers(client));
    EXPECT_TRUE(is_as_its_owner_left_it(memory)) << (in_a_batch ? "in a batch" : "alone");
  }
}

/// The sender is stopped in the midst of a put, the owner of its target takes the memory back.
TEST_P(ReleasedMemory, OfAPutIsNotWrittenBySomeoneStoppedHalfWay) {
  constexpr std::size_t size = std::size_t{256} << 20U;
  Client client;
  WorkerProcess sender{options_of("sender", GetParam(), {"data=256MiB", "small=4096"})};
  write_memory(sender.pid(), sender.lookup(client, "data").addr,
               std::vector<std::byte>(4096, std::byte{1}));
  Worker owner{embedded("owner", GetParam(), "tcp://127.0.0.1:*")};
  Buffer small = owner.allocate_buffer(4096);
  std::vector<std::byte> memory(size);
  std::optional<Buffer> target{owner.register_buffer(memory)};
  const messages::RdmaBuffer handle = target->remote().wire();
  auto outcome = std::async(std::launch::async, [&] {
    return ask(client, sender.ref(), transfer("put", {"data"}, handle, 0, size, 10min));
  });
  std::atomic_ref<std::byte> first{memory.front()};
  EXPECT_TRUE(eventually([&] { return first.load() == std::byte{1}; }));
  sender.process().signal(SIGSTOP);

  target->release();  // waits for nobody who is stopped
  fill_all(memory, reused);
  sender.process().signal(SIGCONT);
  ASSERT_EQ(outcome.wait_for(patience), std::future_status::ready);
  const auto result = outcome.get();
  // The owner may have copied all of it from the sender, though that was stopped.
  if (!(GetParam().config == SoftPath::copy && result)) {
    EXPECT_THAT(result, FailsWith(ErrorCode::remote_access_error));
  }
  EXPECT_THAT(ask(client, sender.ref(), transfer("put", {"small"}, small.remote().wire(), 0, 4096)),
              Succeeds());
  EXPECT_TRUE(is_as_its_owner_left_it(memory));
}

INSTANTIATE_TEST_SUITE_P(Over, ReleasedMemory, ::testing::ValuesIn(all_paths()), name_of);

}  // namespace
}  // namespace danaus::integration
