// Bytes between worker processes: sizes, alignments, both directions, three in a ring.
#include <gtest/gtest.h>

#include <cstddef>
#include <span>

#include "tests/integration/harness/calls.hpp"

namespace danaus::integration {
namespace {

constexpr std::size_t kib = 1024;
constexpr std::size_t mib = 1024 * kib;
/// Memory around the range under test that must stay as it was.
constexpr std::size_t margin = 4099;
constexpr std::size_t largest = 64 * mib;

class TwoProcesses : public ::testing::TestWithParam<std::size_t> {
 protected:
  TwoProcesses() {
    write_memory(active_.pid(), local_.addr, local_bytes_);
    write_memory(passive_.pid(), remote_.addr, remote_bytes_);
  }

  [[nodiscard]] std::vector<std::byte> local_now() const {
    return read_memory(active_.pid(), local_.addr, local_bytes_.size());
  }
  [[nodiscard]] std::vector<std::byte> remote_now() const {
    return read_memory(passive_.pid(), remote_.addr, remote_bytes_.size());
  }

  static std::string buffer_option() { return "data=" + std::to_string(GetParam() + 2 * margin); }

  Client client_;
  WorkerProcess active_{{.identity = "active", .buffers = {buffer_option()}}};
  WorkerProcess passive_{{.identity = "passive", .buffers = {buffer_option()}}};
  messages::RdmaBuffer local_ = active_.lookup(client_, "data");
  messages::RdmaBuffer remote_ = passive_.lookup(client_, "data");
  std::vector<std::byte> local_bytes_ = pattern(GetParam() + 2 * margin, 1);
  std::vector<std::byte> remote_bytes_ = pattern(GetParam() + 2 * margin, 2);
};

/// `into` with its middle taken from the start of `from`.
std::vector<std::byte> overlaid(std::vector<std::byte> into, const std::vector<std::byte>& from,
                                std::size_t size) {
  std::ranges::copy(std::span{from}.first(size), std::span{into}.subspan(margin).begin());
  return into;
}

TEST_P(TwoProcesses, PutMovesExactlyTheRange) {
  const auto result =
      ask(client_, active_.ref(), transfer("put", {"data", 0}, remote_, margin, GetParam()));
  ASSERT_THAT(result, Succeeds());
  EXPECT_EQ(result->bytes, GetParam());
  EXPECT_EQ(result->transport, "soft");
  EXPECT_TRUE(remote_now() == overlaid(remote_bytes_, local_bytes_, GetParam()));
  EXPECT_TRUE(local_now() == local_bytes_);
}

TEST_P(TwoProcesses, GetMovesExactlyTheRange) {
  const auto result =
      ask(client_, active_.ref(), transfer("get", {"data", margin}, remote_, 0, GetParam()));
  ASSERT_THAT(result, Succeeds());
  EXPECT_EQ(result->bytes, GetParam());
  EXPECT_TRUE(local_now() == overlaid(local_bytes_, remote_bytes_, GetParam()));
  EXPECT_TRUE(remote_now() == remote_bytes_);
}

INSTANTIATE_TEST_SUITE_P(Bytes, TwoProcesses,
                         ::testing::Values(1, 7, 8, 32, 4095, 4096, 4097, 64 * kib, mib - 1, mib,
                                           mib + 1, 5 * mib + 3, largest),
                         [](const auto& test) { return std::to_string(test.param); });

TEST(ZeroBytes, CompleteAlsoAtTheVeryEndOfABuffer) {
  Client client;
  const WorkerProcess active{{.identity = "active", .buffers = {"data=64"}}};
  const WorkerProcess passive{{.identity = "passive", .buffers = {"data=64"}}};
  const messages::RdmaBuffer remote = passive.lookup(client, "data");
  for (const std::uint64_t offset : {0U, 64U}) {
    for (const char* op : {"put", "get"}) {
      const auto result =
          ask(client, active.ref(), transfer(op, {"data", offset}, remote, offset, 0));
      ASSERT_THAT(result, Succeeds()) << op << " at " << offset;
      EXPECT_EQ(result->bytes, 0U);
    }
  }
}

TEST(EmbeddedWorker, PutsToAndGetsFromAWorkerProcess) {
  constexpr std::size_t size = 3 * mib + 1;
  Client client;
  const WorkerProcess peer{{.identity = "peer", .buffers = {"data=4MiB"}}};
  const messages::RdmaBuffer remote = peer.lookup(client, "data");
  WorkerConfig config;
  config.identity = "embedded";  // passive: nothing dials it, and yet it moves bytes both ways
  Worker worker{config};
  auto bytes = pattern(size, 5);
  std::vector<std::byte> back(size);
  {
    const Buffer source = worker.register_buffer(bytes);
    const Buffer destination = worker.register_buffer(back);
    worker.put(source, RemoteBuffer{remote}, patience);
    EXPECT_TRUE(read_memory(peer.pid(), remote.addr, size) == bytes);
    worker.get(destination, RemoteBuffer{remote}.slice(0, size), patience);
  }
  EXPECT_TRUE(back == bytes);
}

TEST(EmbeddedWorker, KeepsToTheOneRuleOfSizes) {
  Client client;
  const WorkerProcess peer{{.identity = "peer", .buffers = {"data=64"}}};
  const messages::RdmaBuffer remote = peer.lookup(client, "data");
  const auto remote_bytes = pattern(64, 6);
  write_memory(peer.pid(), remote.addr, remote_bytes);
  WorkerConfig config;
  config.identity = "embedded";
  Worker worker{config};
  auto larger = pattern(100, 7);
  const auto larger_before = larger;
  std::vector<std::byte> smaller(10);
  {
    const Buffer large = worker.register_buffer(larger);
    const Buffer small = worker.register_buffer(smaller);

    // Into a smaller destination: refused, either way.
    EXPECT_THAT(attempt([&] { worker.put(large, RemoteBuffer{remote}, patience); }),
                FailsWith(ErrorCode::size_mismatch));
    EXPECT_THAT(attempt([&] { worker.get(small, RemoteBuffer{remote}, patience); }),
                FailsWith(ErrorCode::size_mismatch));
    EXPECT_EQ(read_memory(peer.pid(), remote.addr, 64), remote_bytes);
    EXPECT_EQ(smaller, std::vector<std::byte>(10));

    // Into a larger one: its prefix is filled, its tail stays.
    worker.get(large, RemoteBuffer{remote}, patience);
    worker.put(small, RemoteBuffer{remote}, patience);
  }
  auto expected = larger_before;
  std::ranges::copy(remote_bytes, expected.begin());
  EXPECT_EQ(larger, expected);
  auto expected_remote = remote_bytes;
  std::fill_n(expected_remote.begin(), 10, std::byte{});
  EXPECT_EQ(read_memory(peer.pid(), remote.addr, 64), expected_remote);
}

TEST(Ring, OfThreeMovesBytesAllTheWayRound) {
  constexpr std::size_t size = 8 * mib;
  constexpr unsigned members = 3;
  Client client;
  std::vector<WorkerProcess> workers;
  std::vector<messages::RdmaBuffer> outboxes;
  std::vector<messages::RdmaBuffer> inboxes;
  for (unsigned i = 0; i < members; ++i) {
    workers.emplace_back(WorkerOptions{.identity = "ring-" + std::to_string(i),
                                       .buffers = {"outbox=8MiB", "inbox=8MiB"}});
    outboxes.push_back(workers[i].lookup(client, "outbox"));
    inboxes.push_back(workers[i].lookup(client, "inbox"));
  }
  for (unsigned round = 0; round < 5; ++round) {
    for (unsigned i = 0; i < members; ++i) {
      write_memory(workers[i].pid(), outboxes[i].addr, pattern(size, 100 * round + i));
    }
    run_concurrently(members, [&](unsigned i) {
      EXPECT_THAT(ask(client, workers[i].ref(),
                      transfer("put", {"outbox"}, inboxes[(i + 1) % members], 0, size)),
                  Succeeds());
    });
    for (unsigned i = 0; i < members; ++i) {
      const unsigned next = (i + 1) % members;
      EXPECT_TRUE(read_memory(workers[next].pid(), inboxes[next].addr, size) ==
                  pattern(size, 100 * round + i))
          << "from " << i << " to " << next << " in round " << round;
    }
  }
}

}  // namespace
}  // namespace danaus::integration
