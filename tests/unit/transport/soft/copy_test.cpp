// Copies within one host: the probes that open them, who may copy what, and what ends them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <random>

#include "soft_fixture.hpp"
#include "transport/soft/copy_probe.hpp"
#include "transport/soft/frame.hpp"
#include "transport/soft/known_grants.hpp"
#include "transport/soft/live_keys.hpp"
#include "transport/soft/peer_process.hpp"
#include "transport/soft/requester.hpp"
#include "transport/soft/route.hpp"

namespace danaus::transport::soft::testing {
namespace {

void fill_randomly(const Pages& pages, unsigned seed) {
  std::mt19937_64 random{seed};
  for (std::size_t i = 0; i + 8 <= pages.size(); i += 8) {
    const std::uint64_t value = random();
    std::memcpy(pages.data() + i, &value, sizeof value);
  }
}

bool equal(const Pages& left, const Pages& right, std::size_t size) {
  return std::memcmp(left.data(), right.data(), size) == 0;
}

constexpr std::size_t size_of_memory = 3 * mebibyte + 4096;

/// Two connected ends of one engine.
class SoftCopy : public ::testing::Test {
 protected:
  SoftCopy() { connect(left_, right_); }

  RunningEngine engine_{RunningEngine::within_host(PathPolicy::automatic)};
  End left_{engine_, size_of_memory};
  End right_{engine_, size_of_memory};
};

TEST_F(SoftCopy, MovesLongPutsAndGetsWithoutSendingThem) {
  fill_randomly(left_.memory, 1);
  ASSERT_EQ(run(*left_.queue_pair, request(Opcode::rdma_write, left_, right_, size_of_memory)),
            CompletionStatus::success);
  EXPECT_TRUE(equal(left_.memory, right_.memory, size_of_memory));
  fill_randomly(right_.memory, 2);
  ASSERT_EQ(run(*left_.queue_pair, request(Opcode::rdma_read, left_, right_, size_of_memory)),
            CompletionStatus::success);
  EXPECT_TRUE(equal(left_.memory, right_.memory, size_of_memory));
  EXPECT_EQ(left_.queue_pair->path(), "copy");
  EXPECT_EQ(engine_.counter("puts_by_copy"), 1);
  EXPECT_EQ(engine_.counter("gets_by_copy"), 1);
  EXPECT_EQ(engine_.counter("bytes_written"), size_of_memory);
  EXPECT_EQ(engine_.counter("bytes_read"), size_of_memory);
}

TEST_F(SoftCopy, SendsWhatIsShort) {
  ASSERT_EQ(run(*left_.queue_pair, request(Opcode::rdma_write, left_, right_, copy_threshold - 1)),
            CompletionStatus::success);
  EXPECT_EQ(left_.queue_pair->path(), "copy");
  EXPECT_EQ(engine_.counter("puts_by_copy"), 0);
}

TEST_F(SoftCopy, LeavesTheBytesBesideTheOperationAlone) {
  constexpr std::size_t offset = 4096 + 8;
  constexpr std::size_t length = copy_threshold + 24;
  fill_randomly(right_.memory, 3);
  WorkRequest get = request(Opcode::rdma_read, left_, right_, length);
  get.local_address += offset;
  get.remote_address += 16;
  ASSERT_EQ(run(*left_.queue_pair, get), CompletionStatus::success);
  EXPECT_EQ(std::memcmp(left_.memory.data() + offset, right_.memory.data() + 16, length), 0);
  EXPECT_EQ(left_.memory.data()[offset - 1], std::byte{0});
  EXPECT_EQ(left_.memory.data()[offset + length], std::byte{0});
}

// What a get has been granted is still to be read when the next request is served.
TEST_F(SoftCopy, DoesNotLetAPutOvertakeTheGetBeforeIt) {
  std::memset(right_.memory.data(), 1, size_of_memory);
  End other{engine_, size_of_memory};
  std::memset(other.memory.data(), 2, size_of_memory);
  const auto source =
      must(left_.domain->register_memory(other.memory.address(), size_of_memory, full_access));
  for (int i = 0; i < 50; ++i) {
    must(left_.queue_pair->post(request(Opcode::rdma_read, left_, right_, size_of_memory)));
    WorkRequest put = request(Opcode::rdma_write, left_, right_, size_of_memory, 2);
    put.local_address = source->address();
    put.lkey = source->lkey();
    must(left_.queue_pair->post(put));
    WorkRequest small = put;
    small.length = 8;
    must(left_.queue_pair->post(small));
    ASSERT_EQ(complete(*left_.queue_pair, 3).size(), 3U);
    ASSERT_EQ(left_.memory.data()[0], std::byte{1});
    ASSERT_EQ(left_.memory.data()[size_of_memory - 1], std::byte{1});
    ASSERT_EQ(right_.memory.data()[0], std::byte{2});
    ASSERT_EQ(right_.memory.data()[size_of_memory - 1], std::byte{2});
    std::memset(right_.memory.data(), 1, size_of_memory);
  }
}

TEST_F(SoftCopy, GoesOnWithoutAPollingCaller) {
  fill_randomly(right_.memory, 4);
  must(left_.queue_pair->post(request(Opcode::rdma_read, left_, right_, size_of_memory)));
  // Nobody polls: the data thread copies, and says so on the descriptor.
  const auto completions = complete(*left_.queue_pair, 1, /*announce=*/false);
  ASSERT_EQ(completions.size(), 1U);
  EXPECT_EQ(completions.front().status, CompletionStatus::success);
  EXPECT_TRUE(equal(left_.memory, right_.memory, size_of_memory));
}

// -- gets that need not ask
// --------------------------------------------------------------------------

class SoftKnownGrant : public SoftCopy {
 protected:
  SoftKnownGrant() { EXPECT_EQ(run(*left_.queue_pair, get(16)), CompletionStatus::success); }

  /// From `offset` on of the peer's memory.
  WorkRequest get(std::uint64_t offset) {
    WorkRequest one = request(Opcode::rdma_read, left_, right_, copy_threshold);
    one.remote_address += offset;
    return one;
  }
};

TEST_F(SoftKnownGrant, ServesTheWholeRegionWithoutThePeer) {
  fill_randomly(right_.memory, 5);
  constexpr std::uint64_t last = size_of_memory - copy_threshold;
  for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{12'345}, last}) {
    ASSERT_EQ(run(*left_.queue_pair, get(offset)), CompletionStatus::success);
    EXPECT_EQ(std::memcmp(left_.memory.data(), right_.memory.data() + offset, copy_threshold), 0);
  }
  EXPECT_EQ(engine_.counter("gets_by_copy"), 1);
}

TEST_F(SoftKnownGrant, EndsWithTheRegion) {
  EXPECT_EQ(run(*left_.queue_pair, get(size_of_memory - copy_threshold + 1)),
            CompletionStatus::remote_access_error);
}

TEST_F(SoftKnownGrant, EndsWithTheRegistration) {
  must(right_.region->deregister());
  EXPECT_EQ(run(*left_.queue_pair, get(0)), CompletionStatus::remote_access_error);
}

TEST_F(SoftKnownGrant, IsOfOneKeyOnly) {
  WorkRequest forged = get(0);
  forged.rkey ^= 1U;
  EXPECT_EQ(run(*left_.queue_pair, forged), CompletionStatus::remote_access_error);
}

TEST_F(SoftKnownGrant, EndsWithThePeersQueuePair) {
  right_.queue_pair.reset();
  // That the peer has gone is met by the get, or told by then.
  EXPECT_THAT(
      run(*left_.queue_pair, get(0)),
      ::testing::AnyOf(CompletionStatus::retry_exceeded, CompletionStatus::work_request_flushed));
}

TEST_F(SoftKnownGrant, DoesNotLetAGetOvertakeThePutBeforeIt) {
  for (int i = 1; i <= 50; ++i) {
    std::memset(left_.memory.data(), i, size_of_memory);
    must(left_.queue_pair->post(request(Opcode::rdma_write, left_, right_, size_of_memory)));
    WorkRequest after = get(size_of_memory - copy_threshold);
    after.id = 2;
    after.local_address = left_.region->address();
    must(left_.queue_pair->post(after));
    ASSERT_EQ(complete(*left_.queue_pair, 2).size(), 2U);
    ASSERT_EQ(left_.memory.data()[0], static_cast<std::byte>(i));
    std::memset(right_.memory.data(), 0, size_of_memory);
  }
}

TEST_F(SoftKnownGrant, AnswersInOrderAmongThoseThatAsk) {
  End other{engine_, copy_threshold};
  std::memset(right_.memory.data(), 1, size_of_memory);
  std::memset(other.memory.data(), 2, copy_threshold);
  const auto theirs =
      must(right_.domain->register_memory(other.memory.address(), copy_threshold, full_access));
  for (std::uint64_t id = 0; id < 6; ++id) {
    WorkRequest one = get(0);
    one.id = id;
    one.local_address += id * copy_threshold;
    if (id % 2 == 1) {
      one.remote_address = theirs->address();
      one.rkey = theirs->rkey();
    }
    must(left_.queue_pair->post(one));
  }
  WorkRequest small = get(0);
  small.id = 6;
  small.local_address += 6 * copy_threshold;
  small.length = 8;
  must(left_.queue_pair->post(small));
  const auto completions = complete(*left_.queue_pair, 7);
  ASSERT_EQ(completions.size(), 7U);
  for (std::uint64_t id = 0; id < 7; ++id) {
    EXPECT_EQ(completions[id].id, id);
    EXPECT_EQ(completions[id].status, CompletionStatus::success);
    EXPECT_EQ(left_.memory.data()[id * copy_threshold], id % 2 == 1 ? std::byte{2} : std::byte{1});
  }
}

TEST_F(SoftKnownGrant, MakesRoomForAnother) {
  std::vector<std::unique_ptr<MemoryRegion>> regions;
  for (std::size_t i = 0; i <= KnownGrants::capacity; ++i) {
    regions.push_back(
        must(right_.domain->register_memory(right_.memory.address(), size_of_memory, full_access)));
    WorkRequest one = get(0);
    one.rkey = regions.back()->rkey();
    ASSERT_EQ(run(*left_.queue_pair, one), CompletionStatus::success);
  }
  const auto asked = engine_.counter("gets_by_copy");
  ASSERT_EQ(run(*left_.queue_pair, get(0)), CompletionStatus::success);
  EXPECT_EQ(engine_.counter("gets_by_copy"), asked + 1);
}

TEST_F(SoftCopy, IsWorthPollingForAsLongAsTheCopyTakes) {
  using std::chrono::microseconds;
  EXPECT_EQ(left_.queue_pair->worth_polling_for(mebibyte), microseconds{0});
  ASSERT_EQ(run(*left_.queue_pair, request(Opcode::rdma_write, left_, right_, 8)),
            CompletionStatus::success);
  EXPECT_EQ(left_.queue_pair->worth_polling_for(8), spin_limit);
  EXPECT_GT(left_.queue_pair->worth_polling_for(mebibyte), microseconds{100});
  EXPECT_LT(left_.queue_pair->worth_polling_for(mebibyte), microseconds{500});
  EXPECT_EQ(left_.queue_pair->worth_polling_for(mebibyte + 1), microseconds{0});
}

// -- whose fault it is
// ------------------------------------------------------------------------------

TEST_F(SoftCopy, ASourceThatVanishedIsALocalProtectionError) {
  left_.memory.unmap(mebibyte, 4096);
  EXPECT_EQ(run(*left_.queue_pair, request(Opcode::rdma_write, left_, right_, size_of_memory)),
            CompletionStatus::local_protection_error);
}

TEST_F(SoftCopy, ADestinationThatVanishedIsALocalProtectionError) {
  left_.memory.unmap(mebibyte, 4096);
  EXPECT_EQ(run(*left_.queue_pair, request(Opcode::rdma_read, left_, right_, size_of_memory)),
            CompletionStatus::local_protection_error);
}

TEST_F(SoftCopy, RemoteMemoryThatVanishedIsARemoteOperationError) {
  right_.memory.unmap(mebibyte, 4096);
  EXPECT_EQ(run(*left_.queue_pair, request(Opcode::rdma_write, left_, right_, size_of_memory)),
            CompletionStatus::remote_operation_error);
  End left{engine_, size_of_memory};
  End right{engine_, size_of_memory};
  connect(left, right);
  right.memory.unmap(mebibyte, 4096);
  EXPECT_EQ(run(*left.queue_pair, request(Opcode::rdma_read, left, right, size_of_memory)),
            CompletionStatus::remote_operation_error);
}

// -- keys -----------------------------------------------------------------------------------------

TEST(LiveKeys, StandAtTheirAddressesUntilTheRegionIsRevoked) {
  const auto at = [](std::uint64_t address) {
    return reinterpret_cast<const std::atomic<std::uint64_t>*>(address)->load();  // NOLINT
  };
  constexpr std::size_t word = sizeof(std::uint64_t);
  Pages memory{4096};
  RegionTable table;
  const auto region =
      table.add(must(memory::AddressRange::make(memory.address(), 4096)), full_access);
  const auto lkey_address = region->live_keys().lkey_address();
  const auto rkey_address = region->live_keys().rkey_address();
  EXPECT_EQ(at(lkey_address), region->lkey());
  EXPECT_EQ(at(rkey_address), region->rkey());
  for (const std::uint64_t address : {lkey_address, rkey_address}) {
    EXPECT_EQ(at(address + word), memory.address());
    EXPECT_EQ(at(address + 2 * word), 4096U);
  }
  region->revoke();
  EXPECT_EQ(at(lkey_address), 0U);
  EXPECT_EQ(at(rkey_address), 0U);
}

// -- PeerProcess ----------------------------------------------------------------------------------

class SoftPeerProcess : public ::testing::Test {
 protected:
  SoftPeerProcess() {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
      throw std::runtime_error{"socketpair failed"};
    }
    one_ = FileDescriptor{ends[0]};
    other_ = FileDescriptor{ends[1]};
  }

  FileDescriptor one_;
  FileDescriptor other_;
};

TEST_F(SoftPeerProcess, CopiesAndThenReadsTheWitness) {
  const auto self = PeerProcess::of(one_.get());
  ASSERT_TRUE(self);
  std::array<std::uint64_t, 4> source{1, 2, 3, 4};
  std::array<std::uint64_t, 4> copy{};
  const Witness witness{.key = 77, .address = 1, .size = 2};
  const auto result = self->copy(reinterpret_cast<std::uintptr_t>(copy.data()),
                                 reinterpret_cast<std::uintptr_t>(source.data()), sizeof source,
                                 reinterpret_cast<std::uintptr_t>(&witness));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->copied, sizeof source);
  EXPECT_EQ(result->witness.key, 77U);
  EXPECT_EQ(result->witness.address, 1U);
  EXPECT_EQ(result->witness.size, 2U);
  EXPECT_EQ(copy, source);
}

TEST_F(SoftPeerProcess, SeesNoWitnessWhereTheMemoryEndsBefore) {
  const auto self = PeerProcess::of(one_.get());
  ASSERT_TRUE(self);
  Pages source{8192};
  Pages copy{8192};
  source.unmap(4096, 4096);
  const Witness witness{.key = 77, .address = 1, .size = 2};
  const auto result = self->copy(copy.address(), source.address(), 8192,
                                 reinterpret_cast<std::uintptr_t>(&witness));
  ASSERT_TRUE(!result || result->copied <= 4096);
  EXPECT_EQ(result ? result->witness.key : 0, 0U);
  const auto rest = self->copy(copy.address(), source.address() + 4096, 4096,
                               reinterpret_cast<std::uintptr_t>(&witness));
  ASSERT_FALSE(rest);
  EXPECT_EQ(rest.error().value(), EFAULT);
}

TEST_F(SoftPeerProcess, FindsTheProcessWithTheNonceAndNoOther) {
  const Nonce nonce;
  EXPECT_TRUE(reach(one_.get(), nonce.probe()));
  Probe lie = nonce.probe();
  lie.nonce ^= 1U;
  const auto wrong = reach(one_.get(), lie);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().value(), ESRCH);
  lie = nonce.probe();
  lie.nonce_address = 8;
  EXPECT_FALSE(reach(one_.get(), lie));
}

// -- routes ---------------------------------------------------------------------------------------

TEST(SoftRoute, DialsNoNameButOneOfOurListeners) {
  EXPECT_TRUE(unix_address(make_unix_name()));
  EXPECT_NE(make_unix_name(), make_unix_name());
  for (const char* name :
       {"", "@danaus-", "@danaus-0123456789abcdef0123456789abcde",
        "@danaus-0123456789abcdef0123456789abcdef0", "@danaus-0123456789ABCDEF0123456789abcdef",
        "/var/run/some.sock", "@other--0123456789abcdef0123456789abcdef"}) {
    EXPECT_FALSE(unix_address(name)) << name;
  }
}

TEST(SoftRoute, TriesCopiesBeforeTcpWhereBothAreAllowed) {
  const messages::SoftEndpoint endpoint{
      .address = "127.0.0.1", .port = 9, .unix_name = make_unix_name(), .token = {}};
  const auto paths = [&](PathPolicy policy) {
    std::vector<std::string> names;
    for (const Route& route : must(resolve(endpoint, policy))) {
      names.emplace_back(route.path);
    }
    return names;
  };
  EXPECT_EQ(paths(PathPolicy::automatic), (std::vector<std::string>{"copy", "tcp"}));
  EXPECT_EQ(paths(PathPolicy::tcp), std::vector<std::string>{"tcp"});
  EXPECT_EQ(paths(PathPolicy::copy), std::vector<std::string>{"copy"});
}

TEST(SoftRoute, RefusesAPeerWithoutCopiesWhereOnlyTheyAreAllowed) {
  const messages::SoftEndpoint endpoint{
      .address = "127.0.0.1", .port = 9, .unix_name = {}, .token = {}};
  const auto routes = resolve(endpoint, PathPolicy::copy);
  ASSERT_FALSE(routes);
  EXPECT_EQ(routes.error().code(), ErrorCode::transport_mismatch);
}

}  // namespace
}  // namespace danaus::transport::soft::testing
