// Operations around the largest work request, and buffers past 4 GiB.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "tests/integration/harness/calls.hpp"

namespace danaus::integration {
namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;
constexpr std::uint64_t gib = std::uint64_t{1} << 30U;
/// How much is filled or compared at a time.
constexpr std::uint64_t chunk = 64 * mib;

void fill(pid_t pid, std::uint64_t address, std::uint64_t size) {
  for (std::uint64_t at = 0; at < size; at += chunk) {
    write_memory(pid, address + at, pattern(std::min(chunk, size - at), at / chunk));
  }
}

bool equal(pid_t left_pid, std::uint64_t left, pid_t right_pid, std::uint64_t right,
           std::uint64_t size) {
  for (std::uint64_t at = 0; at < size; at += chunk) {
    const std::uint64_t length = std::min(chunk, size - at);
    const auto here = read_memory(left_pid, left + at, length);
    const auto there = read_memory(right_pid, right + at, length);
    // Not by operator==, which without optimisation takes most of the time of these tests.
    if (std::memcmp(here.data(), there.data(), length) != 0) {
      return false;
    }
  }
  return true;
}

class AroundOneGib : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(AroundOneGib, APutAndAGetMoveEveryByte) {
  // A little more than is moved, so that each way moves other bytes, and the byte behind is seen.
  const std::string buffer = "data=" + std::to_string(gib + 4096);
  Client client;
  const WorkerProcess active{{.identity = "active", .buffers = {buffer}}};
  const WorkerProcess passive{{.identity = "passive", .buffers = {buffer}}};
  const messages::RdmaBuffer local = active.lookup(client, "data");
  const messages::RdmaBuffer remote = passive.lookup(client, "data");
  fill(active.pid(), local.addr, local.size);

  const auto put = ask(client, active.ref(), transfer("put", {"data", 1}, remote, 0, GetParam()));
  ASSERT_THAT(put, Succeeds());
  EXPECT_EQ(put->bytes, GetParam());
  EXPECT_TRUE(equal(active.pid(), local.addr + 1, passive.pid(), remote.addr, GetParam()));
  EXPECT_EQ(read_memory(passive.pid(), remote.addr + GetParam(), 1).at(0), std::byte{});

  const auto get = ask(client, active.ref(), transfer("get", {"data", 3}, remote, 0, GetParam()));
  ASSERT_THAT(get, Succeeds());
  EXPECT_EQ(get->bytes, GetParam());
  EXPECT_TRUE(equal(active.pid(), local.addr + 3, passive.pid(), remote.addr, GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Bytes, AroundOneGib, ::testing::Values(gib - 1, gib, gib + 1),
                         [](const auto& test) { return std::to_string(test.param); });

class SparseFiveGib : public ::testing::Test {
 protected:
  Client client_;
  WorkerProcess active_{{.identity = "active", .buffers = {"data=5GiB"}}};
  WorkerProcess passive_{{.identity = "passive", .buffers = {"data=5GiB"}}};
  messages::RdmaBuffer local_ = active_.lookup(client_, "data");
  messages::RdmaBuffer remote_ = passive_.lookup(client_, "data");
};

TEST_F(SparseFiveGib, IsReachedAcrossFourGib) {
  constexpr std::uint64_t size = 64 * mib;
  constexpr std::uint64_t from = 4 * gib - size / 2;
  fill(active_.pid(), local_.addr + from, size);
  ASSERT_THAT(ask(client_, active_.ref(), transfer("put", {"data", from}, remote_, from + 5, size)),
              Succeeds());
  EXPECT_TRUE(
      equal(active_.pid(), local_.addr + from, passive_.pid(), remote_.addr + from + 5, size));
  ASSERT_THAT(ask(client_, active_.ref(), transfer("get", {"data", from}, remote_, from, size)),
              Succeeds());
  EXPECT_TRUE(equal(active_.pid(), local_.addr + from, passive_.pid(), remote_.addr + from, size));
  // Its last byte, and not one more.
  EXPECT_THAT(ask(client_, active_.ref(), transfer("put", {"data"}, remote_, 5 * gib - 1, 1)),
              Succeeds());
  EXPECT_THAT(ask(client_, active_.ref(), transfer("put", {"data"}, remote_, 5 * gib - 1, 2)),
              ::testing::Not(Succeeds()));
}

TEST_F(SparseFiveGib, MovesMoreThanFourGibInOneTransfer) {
  constexpr std::uint64_t size = 4 * gib + 4097;
  // Marks at both ends and wherever an operation is split; between them, zeros that are never
  // mapped.
  for (std::uint64_t mark = 0; mark < size; mark += gib) {
    fill(passive_.pid(), remote_.addr + mark + gib / 2, 4096);
    write_memory(passive_.pid(), remote_.addr + mark, pattern(4096, mark));
  }
  const auto got =
      ask(client_, active_.ref(), transfer("get", {"data", 7}, remote_, 0, size, 120s), 120s);
  ASSERT_THAT(got, Succeeds());
  EXPECT_EQ(got->bytes, size);
  EXPECT_TRUE(equal(active_.pid(), local_.addr + 7, passive_.pid(), remote_.addr, size));
}

}  // namespace
}  // namespace danaus::integration
