// Atomics and puts with immediate between processes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "tests/integration/harness/calls.hpp"

namespace danaus::integration {
namespace {

messages::Atomic fetch_add(messages::RdmaBuffer remote, std::uint64_t value) {
  messages::Atomic message;
  message.op = "fetch_add";
  message.remote = std::move(remote);
  message.add = value;
  message.timeout_ms = static_cast<std::uint32_t>(std::chrono::milliseconds{patience}.count());
  return message;
}

std::uint64_t word_of(const WorkerProcess& worker, const messages::RdmaBuffer& buffer) {
  std::uint64_t word = 0;
  const auto bytes = read_memory(worker.pid(), buffer.addr, sizeof word);
  std::memcpy(&word, bytes.data(), sizeof word);
  return word;
}

TEST(AtomicsBetweenProcesses, OfManyClientsAddUpAndNoTwoSeeTheSame) {
  constexpr unsigned clients = 8;
  constexpr std::uint64_t rounds = 100;
  Client client;
  const WorkerProcess owner{{.identity = "owner", .buffers = {"counter=8"}}};
  const WorkerProcess first{{.identity = "first"}};
  const WorkerProcess second{{.identity = "second"}};
  const messages::RdmaBuffer counter = owner.lookup(client, "counter");
  WorkerConfig config;
  config.identity = "embedded";
  Worker embedded{config};
  std::vector<std::vector<std::uint64_t>> seen(clients);
  run_concurrently(clients, [&](unsigned i) {
    Client own;
    const WorkerProcess* const managers[] = {&first, &second, &owner};
    for (std::uint64_t round = 0; round < rounds; ++round) {
      // A fourth of them by themselves, the others through three managers.
      if (i % 4 == 3) {
        seen[i].push_back(embedded.fetch_add(RemoteBuffer{counter}, 0, 1, patience));
        continue;
      }
      const auto result = ask(own, managers[i % 4]->ref(), fetch_add(counter, 1));
      ASSERT_THAT(result, Succeeds());
      seen[i].push_back(result->value);
    }
  });
  EXPECT_EQ(word_of(owner, counter), clients * rounds);
  std::vector<std::uint64_t> all;
  for (const auto& some : seen) {
    EXPECT_TRUE(std::ranges::is_sorted(some));
    all.insert(all.end(), some.begin(), some.end());
  }
  std::ranges::sort(all);
  std::vector<std::uint64_t> each(clients * rounds);
  std::iota(each.begin(), each.end(), 0);
  EXPECT_EQ(all, each);
}

TEST(AtomicsBetweenProcesses, AreRefusedOnceTheirOwnerHasRestarted) {
  Client client;
  const WorkerProcess asked{{.identity = "asked"}};
  messages::RdmaBuffer counter;
  {
    const WorkerProcess owner{{.identity = "owner", .buffers = {"counter=8"}}};
    counter = owner.lookup(client, "counter");
    EXPECT_THAT(ask(client, asked.ref(), fetch_add(counter, 1)), Succeeds());
  }
  const WorkerProcess again{{.identity = "owner", .buffers = {"counter=8"}}};
  messages::RdmaBuffer stale = counter;
  stale.owner = again.ref();
  EXPECT_THAT(ask(client, asked.ref(), fetch_add(stale, 1)), FailsWith(ErrorCode::stale_peer));
  EXPECT_EQ(word_of(again, again.lookup(client, "counter")), 0U);
}

TEST(AtomicsBetweenProcesses, APutWithImmediateThatNobodyReceivesTimesOutAndDisturbsNobodyElse) {
  Client client;
  const WorkerProcess peer{{.identity = "peer", .buffers = {"data=64"}}};
  const messages::RdmaBuffer remote = peer.lookup(client, "data");
  WorkerConfig config;
  config.identity = "sender";
  Worker sender{config};
  const Buffer local = sender.allocate_buffer(64);
  QueuePair queue_pair = sender.queue_pair(RemoteBuffer{remote}, patience);
  const auto waiting = queue_pair.post_put_with_immediate(local, RemoteBuffer{remote}, 1);
  config.identity = "bystander";
  {
    Worker bystander{config};
    const Buffer source = bystander.allocate_buffer(64);
    EXPECT_NO_THROW(bystander.put(source, RemoteBuffer{remote}, patience));
  }
  EXPECT_THAT(attempt([&] { queue_pair.wait(waiting, std::chrono::milliseconds{20}); }),
              FailsWith(ErrorCode::timeout));
}

}  // namespace
}  // namespace danaus::integration
