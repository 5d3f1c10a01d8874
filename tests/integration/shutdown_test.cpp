// SIGTERM: the worker ends with exit code 0 and leaves nothing behind, whatever is going on.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <future>

#include "tests/integration/harness/calls.hpp"
#include "tests/integration/harness/temporary_directory.hpp"

namespace danaus::integration {
namespace {

constexpr ExitStatus clean{.code = 0, .signal = {}};

TEST(Termination, OfAnIdleWorkerIsClean) {
  WorkerProcess worker{{.buffers = {"data=1MiB"}}};
  EXPECT_EQ(worker.terminate(), clean) << worker.process().standard_error();
}

TEST(Termination, ByInterruptIsCleanToo) {
  WorkerProcess worker{{}};
  worker.process().signal(SIGINT);
  EXPECT_EQ(worker.process().wait_for_exit(), clean) << worker.process().standard_error();
}

TEST(Termination, RemovesTheSocketFile) {
  const TemporaryDirectory directory;
  const auto socket = directory.path() / "socket";
  Client client;
  WorkerProcess worker{{.bind = "ipc://" + socket.string()}};
  EXPECT_TRUE(worker.answers(client));
  EXPECT_TRUE(std::filesystem::exists(socket));
  EXPECT_EQ(worker.terminate(), clean) << worker.process().standard_error();
  EXPECT_FALSE(std::filesystem::exists(socket));
}

TEST(Termination, LeavesTheSocketFileOfASuccessor) {
  const TemporaryDirectory directory;
  const auto socket = directory.path() / "socket";
  Client client;
  WorkerProcess first{{.identity = "first", .bind = "ipc://" + socket.string()}};
  std::filesystem::remove(socket);
  const WorkerProcess second{{.identity = "second", .bind = "ipc://" + socket.string()}};
  EXPECT_EQ(first.terminate(), clean) << first.process().standard_error();
  EXPECT_TRUE(std::filesystem::exists(socket));
  EXPECT_TRUE(second.answers(client));
}

TEST(Termination, FreesItsPortsWhileClientsAreConnected) {
  Client client;
  WorkerOptions options{.identity = "first", .buffers = {"data=4096"}};
  std::optional<WorkerProcess> worker{std::in_place, options};
  const WorkerProcess peer{{.identity = "peer", .buffers = {"data=4096"}}};
  ASSERT_THAT(
      ask(client, worker->ref(), transfer("put", {"data"}, peer.lookup(client, "data"), 0, 4096)),
      Succeeds());
  ASSERT_THAT(
      ask(client, peer.ref(), transfer("put", {"data"}, worker->lookup(client, "data"), 0, 4096)),
      Succeeds());
  std::string data_port;
  for (const messages::DeviceInfo& device :
       client.call(worker->ref(), messages::ListDevices{}, patience)) {
    const std::string& address = device.attributes.at("data_address");
    data_port = address.substr(address.rfind(':') + 1);
  }
  EXPECT_EQ(worker->terminate(), clean) << worker->process().standard_error();

  options.bind = worker->ref().at;
  options.arguments = {"--data-port", data_port};
  worker.emplace(options);
  EXPECT_THAT(
      ask(client, peer.ref(), transfer("put", {"data"}, worker->lookup(client, "data"), 0, 4096)),
      Succeeds());
}

class TerminationInMidTransfer : public ::testing::TestWithParam<std::string> {};

TEST_P(TerminationInMidTransfer, IsCleanAndEndsTheTransferWithAnError) {
  Client client;
  WorkerProcess active{{.identity = "active", .buffers = {"data=2GiB"}}};
  WorkerProcess peer{{.identity = "peer", .buffers = {"data=2GiB"}}};
  const messages::RdmaBuffer local = active.lookup(client, "data");
  const messages::RdmaBuffer remote = peer.lookup(client, "data");
  const auto mark = pattern(64, 51);
  write_memory(active.pid(), local.addr, mark);
  auto outcome = std::async(std::launch::async, [&] {
    return ask(client, active.ref(),
               transfer("put", {"data"}, remote, 0, std::uint64_t{2} << 30U, 10min));
  });
  EXPECT_TRUE(eventually([&] { return read_memory(peer.pid(), remote.addr, 64) == mark; }));
  WorkerProcess& ended = GetParam() == "Active" ? active : peer;
  WorkerProcess& survivor = GetParam() == "Active" ? peer : active;
  // What the active one has begun it would finish, given the time.
  survivor.process().signal(SIGSTOP);
  EXPECT_EQ(ended.terminate(), clean) << ended.process().standard_error();
  survivor.process().signal(SIGCONT);
  ASSERT_EQ(outcome.wait_for(patience), std::future_status::ready);
  EXPECT_FALSE(outcome.get().has_value());
  EXPECT_TRUE(survivor.answers(client));
  EXPECT_EQ(survivor.terminate(), clean) << survivor.process().standard_error();
}

INSTANTIATE_TEST_SUITE_P(OfThe, TerminationInMidTransfer, ::testing::Values("Active", "Peer"),
                         [](const auto& test) { return test.param; });

TEST(Termination, WhileAPeerIsStoppedDoesNotWaitForIt) {
  Client client;
  WorkerProcess worker{{.identity = "worker"}};
  WorkerProcess stopped{{.identity = "stopped"}};
  stopped.process().signal(SIGSTOP);
  auto waiting = std::async(std::launch::async, [&] {
    return ask(client, worker.ref(),
               messages::RequestQueuePair{
                   .other = stopped.ref(), .self_device = "soft0", .other_device = "soft0"});
  });
  EXPECT_TRUE(eventually([&] { return !worker.stats(client).queue_pairs.empty(); }));
  EXPECT_EQ(worker.terminate(), clean) << worker.process().standard_error();
  EXPECT_FALSE(waiting.get().has_value());
}

/// What is said of a worker that ends; nothing may be said of its buffers, which end with it.
const auto end_of_the_worker =
    ::testing::AnyOf(ErrorCode::shutting_down, ErrorCode::unreachable, ErrorCode::peer_lost,
                     ErrorCode::retry_exceeded, ErrorCode::queue_pair_reset);

TEST(Termination, IsWhatThoseHearWhoStillRegisterMemory) {
  Client client;
  std::vector<std::string> buffers{"data=4096"};
  for (int index = 0; index < 200; ++index) {
    buffers.push_back("other" + std::to_string(index) + "=4096");
  }
  WorkerProcess worker{{.buffers = buffers}};
  const messages::RdmaBuffer data = worker.lookup(client, "data");
  std::promise<void> began;
  auto refusal = std::async(std::launch::async, [&]() -> Error {
    for (bool first = true;; first = false) {
      const auto handle =
          ask(client, worker.ref(), messages::RequestBuffer{.addr = data.addr, .size = data.size});
      if (!handle) {
        return handle.error();
      }
      const auto released = ask(client, worker.ref(), messages::ReleaseBuffer{*handle});
      if (!released) {
        return released.error();
      }
      if (first) {
        began.set_value();
      }
    }
  });
  began.get_future().wait();
  EXPECT_EQ(worker.terminate(), clean) << worker.process().standard_error();
  const Error error = refusal.get();
  EXPECT_THAT(error.code(), end_of_the_worker) << error.message();
}

class TerminationOfThePeer : public ::testing::TestWithParam<const char*> {};

TEST_P(TerminationOfThePeer, IsWhatThoseHearWhoStillMoveBytes) {
  Worker active{{.identity = "active", .bind = "tcp://127.0.0.1:*"}};
  WorkerProcess peer{
      {.buffers = {"data=1MiB", "other=4096"}, .arguments = {"--soft-path", GetParam()}}};
  Client client;
  const RemoteBuffer remote{peer.lookup(client, "data")};
  const Buffer local = active.allocate_buffer(remote.size());
  std::promise<void> began;
  auto refusal = std::async(std::launch::async, [&]() -> Error {
    try {
      for (bool first = true;; first = false) {
        active.put(local, remote, patience);
        active.get(local, remote, patience);
        if (first) {
          began.set_value();
        }
      }
    } catch (const Error& error) {
      return error;
    }
  });
  began.get_future().wait();
  EXPECT_EQ(peer.terminate(), clean) << peer.process().standard_error();
  const Error error = refusal.get();
  EXPECT_THAT(error.code(), end_of_the_worker) << error.message();
}

INSTANTIATE_TEST_SUITE_P(Over, TerminationOfThePeer, ::testing::Values("tcp", "copy"),
                         [](const auto& test) { return std::string{test.param}; });

}  // namespace
}  // namespace danaus::integration
