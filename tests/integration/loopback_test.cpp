// One manager connected to itself: through one device, and from one of its devices to another.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "tests/integration/harness/calls.hpp"

namespace danaus::integration {
namespace {

using ::testing::UnorderedElementsAre;

constexpr std::size_t transfer_size = 32;
constexpr std::byte fill{42};

WorkerConfig worker_config(unsigned soft_devices) {
  WorkerConfig config;
  config.identity = "loopback";
  config.bind = "tcp://127.0.0.1:*";
  config.device = "soft";
  config.soft_devices = soft_devices;
  return config;
}

/// A worker in this process and two pieces of memory registered with it.
class Loopback : public ::testing::TestWithParam<unsigned> {
 protected:
  Loopback() { full_.fill(fill); }

  [[nodiscard]] QueuePair queue_pair() {
    return worker_.queue_pair(worker_.ref(), "soft0", GetParam() == 1 ? "soft0" : "soft1",
                              patience);
  }

  std::array<std::byte, transfer_size> full_{};
  std::array<std::byte, transfer_size> empty_{};
  Worker worker_{worker_config(GetParam())};
  Buffer full_buffer_ = worker_.register_buffer(full_);
  Buffer empty_buffer_ = worker_.register_buffer(empty_);
};

TEST_P(Loopback, Writes) {
  QueuePair pair = queue_pair();
  const std::uint64_t id = pair.post_put(full_buffer_, empty_buffer_.remote());
  pair.wait(id, patience);
  EXPECT_EQ(empty_, full_);
  EXPECT_EQ(pair.describe().state, ready_to_send);
}

TEST_P(Loopback, Reads) {
  QueuePair pair = queue_pair();
  const std::uint64_t id = pair.post_get(empty_buffer_, full_buffer_.remote());
  pair.wait(id, patience);
  EXPECT_EQ(empty_, full_);
}

TEST_P(Loopback, MovesNothingBeforeItIsAskedTo) {
  const QueuePair pair = queue_pair();
  EXPECT_EQ(pair.describe().state, ready_to_send);
  EXPECT_TRUE(std::ranges::all_of(empty_, [](std::byte byte) { return byte == std::byte{}; }));
}

INSTANTIATE_TEST_SUITE_P(Devices, Loopback, ::testing::Values(1U, 2U), [](const auto& test) {
  return test.param == 1 ? "OnOneDevice" : "BetweenTwoDevices";
});

TEST(LoopbackWorker, TransfersBetweenItsOwnBuffers) {
  Client client;
  const WorkerProcess worker{{.buffers = {"from=32", "to=32"}}};
  const messages::RdmaBuffer from = worker.lookup(client, "from");
  const messages::RdmaBuffer to = worker.lookup(client, "to");
  const auto bytes = pattern(transfer_size, 1);
  write_memory(worker.pid(), from.addr, bytes);

  ASSERT_THAT(ask(client, worker.ref(), transfer("put", {"from"}, to, 0, transfer_size)),
              Succeeds());
  EXPECT_EQ(read_memory(worker.pid(), to.addr, transfer_size), bytes);

  write_memory(worker.pid(), to.addr, std::vector<std::byte>(transfer_size));
  ASSERT_THAT(ask(client, worker.ref(), transfer("get", {"to"}, from, 0, transfer_size)),
              Succeeds());
  EXPECT_EQ(read_memory(worker.pid(), to.addr, transfer_size), bytes);
}

TEST(LoopbackWorker, ConnectsTwoOfItsOwnDevices) {
  Client client;
  const WorkerProcess worker{{.arguments = {"--soft-devices", "2"}}};
  const auto forth =
      ask(client, worker.ref(),
          messages::RequestQueuePair{
              .other = worker.ref(), .self_device = "soft0", .other_device = "soft1"});
  ASSERT_THAT(forth, Succeeds());
  EXPECT_EQ(forth->state, ready_to_send);
  EXPECT_NE(forth->qp_num, forth->peer_qp_num);

  const auto back =
      ask(client, worker.ref(),
          messages::RequestQueuePair{
              .other = worker.ref(), .self_device = "soft1", .other_device = "soft0"});
  ASSERT_THAT(back, Succeeds());
  EXPECT_EQ(back->qp_num, forth->peer_qp_num);
  EXPECT_EQ(back->peer_qp_num, forth->qp_num);

  std::vector<std::string> devices;
  for (const auto& entry : worker.stats(client).queue_pairs) {
    devices.push_back(entry.queue_pair.self_device);
  }
  EXPECT_THAT(devices, UnorderedElementsAre("soft0", "soft1"));
}

}  // namespace
}  // namespace danaus::integration
