// Wrong requests, wrong keys, wrong owners: each is refused with its own error, changes nothing,
// and the worker goes on.
#include <gtest/gtest.h>
#include <signal.h>

#include <cstddef>
#include <limits>

#include "tests/integration/harness/calls.hpp"

namespace danaus::integration {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr std::size_t buffer_size = 4096;

class WrongInput : public ::testing::Test {
 protected:
  WrongInput() {
    write_memory(active_.pid(), local_.addr, pattern(buffer_size, 31));
    write_memory(passive_.pid(), remote_.addr, untouched_);
  }

  /// A put that is to fail, and then one that must still work.
  void expect_refused(const messages::Transfer& wrong, ErrorCode code) {
    EXPECT_THAT(ask(client_, active_.ref(), wrong), FailsWith(code));
    EXPECT_EQ(read_memory(passive_.pid(), remote_.addr, buffer_size), untouched_);
    const messages::RdmaBuffer scratch = passive_.lookup(client_, "scratch");
    EXPECT_THAT(ask(client_, active_.ref(), transfer("put", {"data"}, scratch, 0, buffer_size)),
                Succeeds());
    EXPECT_EQ(read_memory(passive_.pid(), scratch.addr, buffer_size), pattern(buffer_size, 31));
  }

  [[nodiscard]] messages::Transfer put_to(messages::RdmaBuffer remote) const {
    return transfer("put", {"data"}, std::move(remote), 0, buffer_size);
  }

  Client client_;
  WorkerProcess active_{{.identity = "active", .buffers = {"data=4096"}}};
  WorkerProcess passive_{{.identity = "passive",
                          .buffers = {"data=4096", "scratch=4096"},
                          .arguments = {"--soft-devices", "2"}}};
  messages::RdmaBuffer local_ = active_.lookup(client_, "data");
  messages::RdmaBuffer remote_ = passive_.lookup(client_, "data");
  const std::vector<std::byte> untouched_ = pattern(buffer_size, 32);
};

/// Every key of a handle replaced by what `change` makes of it.
template <class Change>
messages::RdmaBuffer with_keys(messages::RdmaBuffer handle, Change change) {
  handle.rkey = change(handle.rkey);
  for (messages::AlternateRegistration& alternate : handle.alternates) {
    alternate.rkey = change(alternate.rkey);
  }
  return handle;
}

TEST_F(WrongInput, AGuessedKeyIsARemoteAccessError) {
  expect_refused(put_to(with_keys(remote_, [](std::uint64_t key) { return key + 1; })),
                 ErrorCode::remote_access_error);
}

TEST_F(WrongInput, TheKeyOfAnotherBufferIsARemoteAccessError) {
  const messages::RdmaBuffer scratch = passive_.lookup(client_, "scratch");
  expect_refused(put_to(with_keys(remote_, [&](std::uint64_t) { return scratch.rkey; })),
                 ErrorCode::remote_access_error);
}

TEST_F(WrongInput, TheKeyOfAnotherDeviceIsARemoteAccessError) {
  ASSERT_EQ(remote_.device_name, "soft0");
  messages::RdmaBuffer crossed = remote_;
  crossed.alternates.clear();
  for (const messages::AlternateRegistration& alternate : remote_.alternates) {
    if (alternate.device_name == "soft1") {
      crossed.rkey = alternate.rkey;
    }
  }
  ASSERT_NE(crossed.rkey, remote_.rkey) << "the buffer is not registered with soft1";
  expect_refused(put_to(crossed), ErrorCode::remote_access_error);
}

TEST_F(WrongInput, AHandleMadeLargerThanItsBufferIsARemoteAccessError) {
  messages::RdmaBuffer larger = remote_;
  larger.size = 2 * buffer_size;
  messages::Transfer past_the_end = put_to(larger);
  past_the_end.offset = 1;
  expect_refused(past_the_end, ErrorCode::remote_access_error);
}

TEST_F(WrongInput, ARangePastTheEndOfEitherBufferIsRefused) {
  messages::Transfer past_remote = put_to(remote_);
  past_remote.offset = 1;
  messages::Transfer past_local = put_to(remote_);
  past_local.local.offset = 1;
  messages::Transfer wrapping = put_to(remote_);
  wrapping.offset = std::numeric_limits<std::uint64_t>::max() - 1;
  messages::Transfer too_long = put_to(remote_);
  too_long.length = std::numeric_limits<std::uint64_t>::max();
  for (const messages::Transfer& wrong : {past_remote, past_local, wrapping, too_long}) {
    EXPECT_THAT(ask(client_, active_.ref(), wrong),
                AnyOf(FailsWith(ErrorCode::out_of_range), FailsWith(ErrorCode::size_mismatch)));
  }
  EXPECT_EQ(read_memory(passive_.pid(), remote_.addr, buffer_size), untouched_);
}

TEST_F(WrongInput, ATransferOfAnUnknownKindOrBufferIsRefused) {
  messages::Transfer swap = put_to(remote_);
  swap.op = "swap";
  EXPECT_THAT(ask(client_, active_.ref(), swap), FailsWith(ErrorCode::invalid_argument));
  messages::Transfer unnamed = put_to(remote_);
  unnamed.local.buffer = "no-such-buffer";
  EXPECT_THAT(ask(client_, active_.ref(), unnamed), FailsWith(ErrorCode::not_found));
  EXPECT_THAT(ask(client_, active_.ref(), messages::LookupBuffer{.buffer_name = "no-such-buffer"}),
              FailsWith(ErrorCode::not_found));
}

TEST_F(WrongInput, AnUnknownDeviceIsAnErrorThatListsTheDevices) {
  const auto own = ask(client_, passive_.ref(),
                       messages::RequestQueuePair{
                           .other = active_.ref(), .self_device = "mlx5_0", .other_device = ""});
  ASSERT_THAT(own, FailsWith(ErrorCode::unknown_device));
  EXPECT_THAT(own.error().message(), HasSubstr("soft0"));
  EXPECT_THAT(own.error().message(), HasSubstr("soft1"));

  const auto peers = ask(client_, active_.ref(),
                         messages::RequestQueuePair{
                             .other = passive_.ref(), .self_device = "", .other_device = "mlx5_0"});
  ASSERT_THAT(peers, FailsWith(ErrorCode::unknown_device));
  EXPECT_THAT(peers.error().message(), HasSubstr("soft1"));

  EXPECT_THAT(ask(client_, passive_.ref(),
                  messages::InitializeQP{
                      .other = active_.ref(), .self_device = "soft2", .other_device = "soft0"}),
              FailsWith(ErrorCode::unknown_device));
  EXPECT_TRUE(passive_.stats(client_).queue_pairs.empty());
  EXPECT_TRUE(active_.stats(client_).queue_pairs.empty());
}

TEST_F(WrongInput, AMessageForAnotherIdentityIsRefused) {
  messages::ActorRef misnamed = active_.ref();
  misnamed.id = "somebody-else";
  EXPECT_THAT(ask(client_, misnamed, messages::ListDevices{}),
              FailsWith(ErrorCode::wrong_addressee));
}

TEST_F(WrongInput, OnlyOwnerOrRegistrantReleasesAndOnlyOnce) {
  // Not the owner of a buffer that the worker offers:
  EXPECT_THAT(ask(client_, passive_.ref(), messages::ReleaseBuffer{.buffer = remote_}),
              FailsWith(ErrorCode::permission_denied));
  EXPECT_THAT(ask(client_, active_.ref(), put_to(remote_)), Succeeds());

  // Registered by one client, released by another, then by the right one, then once more:
  const auto registered =
      ask(client_, passive_.ref(), messages::RequestBuffer{.addr = remote_.addr + 8, .size = 16});
  ASSERT_THAT(registered, Succeeds());
  Client stranger;
  EXPECT_THAT(ask(stranger, passive_.ref(), messages::ReleaseBuffer{.buffer = *registered}),
              FailsWith(ErrorCode::permission_denied));
  EXPECT_THAT(
      ask(client_, active_.ref(), transfer("put", {"data"}, *registered, 0, registered->size)),
      Succeeds());
  EXPECT_THAT(ask(client_, passive_.ref(), messages::ReleaseBuffer{.buffer = *registered}),
              Succeeds());
  EXPECT_THAT(ask(client_, passive_.ref(), messages::ReleaseBuffer{.buffer = *registered}),
              FailsWith(ErrorCode::not_found));
  EXPECT_THAT(
      ask(client_, active_.ref(), transfer("put", {"data"}, *registered, 0, registered->size)),
      FailsWith(ErrorCode::remote_access_error));
}

TEST_F(WrongInput, OthersRegisterWithinOfferedBuffersOnly) {
  const auto register_at = [&](std::uint64_t address, std::uint64_t length) {
    return ask(client_, passive_.ref(), messages::RequestBuffer{.addr = address, .size = length});
  };
  EXPECT_THAT(register_at(remote_.addr, buffer_size), Succeeds());
  EXPECT_THAT(register_at(remote_.addr, buffer_size + 1), FailsWith(ErrorCode::permission_denied));
  EXPECT_THAT(register_at(remote_.addr - 1, 2), FailsWith(ErrorCode::permission_denied));
  EXPECT_THAT(register_at(remote_.addr, 0), FailsWith(ErrorCode::invalid_argument));
  EXPECT_THAT(register_at(std::numeric_limits<std::uint64_t>::max(), 2),
              FailsWith(ErrorCode::invalid_argument));
}

TEST(RegisterPolicyAny, TakesMappedRangesAndRefusesOthers) {
  Client client;
  const WorkerProcess worker{{.buffers = {"data=8192"}, .arguments = {"--register-policy", "any"}}};
  const messages::RdmaBuffer data = worker.lookup(client, "data");
  const auto register_at = [&](std::uint64_t address, std::uint64_t length) {
    return ask(client, worker.ref(), messages::RequestBuffer{.addr = address, .size = length});
  };
  EXPECT_THAT(register_at(data.addr, data.size), Succeeds());
  constexpr std::uint64_t never_mapped = 4096;  // below vm.mmap_min_addr
  EXPECT_THAT(register_at(never_mapped, 4096), FailsWith(ErrorCode::registration_failed));
  EXPECT_THAT(register_at(data.addr, 0), FailsWith(ErrorCode::invalid_argument));
  EXPECT_THAT(register_at(std::numeric_limits<std::uint64_t>::max() - 4095, 8192),
              FailsWith(ErrorCode::invalid_argument));
}

TEST_F(WrongInput, AClientThatVanishesMidRequestLeavesTheWorkerWorking) {
  WorkerProcess stopped{{.identity = "stopped"}};
  stopped.process().signal(SIGSTOP);
  const nlohmann::json fields = {{"other", {{"id", stopped.ref().id}, {"at", stopped.ref().at}}},
                                 {"self_device", "soft0"},
                                 {"other_device", "soft0"}};
  {
    Process asking{{.arguments = {built_program("danaus"), "inject", active_.reference(),
                                  "RequestQueuePair", fields.dump(), "--timeout", "30s"},
                    .environment = {}}};
    // It is being served once the manager holds a queue pair for it.
    EXPECT_TRUE(eventually([&] { return !active_.stats(client_).queue_pairs.empty(); }));
    asking.signal(SIGKILL);
    ASSERT_TRUE(asking.wait_for_exit().has_value());
  }
  EXPECT_TRUE(active_.answers(client_));
  stopped.process().signal(SIGCONT);
  EXPECT_THAT(ask(client_, active_.ref(),
                  messages::RequestQueuePair{
                      .other = stopped.ref(), .self_device = "soft0", .other_device = "soft0"}),
              Succeeds());
}

TEST(TwoWorkersOfOneIdentity, AreToldApartByTheirIncarnations) {
  Client client;
  const WorkerProcess active{{.identity = "active", .buffers = {"data=4096"}}};
  const WorkerProcess first{{.identity = "twin", .buffers = {"data=4096"}}};
  const WorkerProcess second{{.identity = "twin", .buffers = {"data=4096"}}};
  const std::array twins{&first, &second};
  const std::array handles{first.lookup(client, "data"), second.lookup(client, "data")};
  const messages::RdmaBuffer local = active.lookup(client, "data");

  // Bytes for one never reach the other, whichever was spoken to last.
  for (unsigned round = 0; round < 6; ++round) {
    const unsigned chosen = round % 2;
    const unsigned other = 1 - chosen;
    const auto before = read_memory(twins.at(other)->pid(), handles.at(other).addr, buffer_size);
    const auto bytes = pattern(buffer_size, 40 + round);
    write_memory(active.pid(), local.addr, bytes);
    EXPECT_THAT(
        ask(client, active.ref(), transfer("put", {"data"}, handles.at(chosen), 0, buffer_size)),
        Succeeds());
    EXPECT_EQ(read_memory(twins.at(chosen)->pid(), handles.at(chosen).addr, buffer_size), bytes);
    EXPECT_EQ(read_memory(twins.at(other)->pid(), handles.at(other).addr, buffer_size), before);
  }

  // Both may ask one manager at the same time; each is answered.
  run_concurrently(2, [&](unsigned twin) {
    const auto pair = ask(
        client, twins.at(twin)->ref(),
        messages::RequestQueuePair{.other = active.ref(), .self_device = "", .other_device = ""});
    EXPECT_TRUE(pair.has_value() || pair.error().code() != ErrorCode::timeout);
  });
  EXPECT_TRUE(active.answers(client) && first.answers(client) && second.answers(client));
}

}  // namespace
}  // namespace danaus::integration
