// Starting and ending a worker: what is refused, that a start which fails undoes itself, that
// nothing leaks, and that the end waits for nobody.
#include <dirent.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <future>
#include <map>
#include <memory>
#include <thread>

#include "silent_listener.hpp"
#include "test_workers.hpp"
#include "tests/forgiven_leaks.hpp"

namespace danaus {
namespace {

using ::testing::AllOf;
using testing::code_name;
using testing::config_of;
using testing::content;
using testing::error_of;
using testing::fill;
using ::testing::HasSubstr;
using testing::patience;
using testing::pattern;
using testing::SilentListener;

std::vector<std::string> entries_of(const std::string& directory) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> listing{::opendir(directory.c_str()), &::closedir};
  while (const dirent* const entry = ::readdir(listing.get())) {
    names.emplace_back(entry->d_name);
  }
  return names;
}

struct Resources {
  std::size_t descriptors = entries_of("/proc/self/fd").size();
  std::size_t threads = entries_of("/proc/self/task").size();
  friend bool operator==(const Resources&, const Resources&) = default;
};

/// Whether the process comes back to `before`. Looks more than once: the kernel lists a thread for
/// a moment after it was joined.
bool comes_back_to(const Resources& before) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (Resources{} != before) {
    if (std::chrono::steady_clock::now() > deadline) {
      ADD_FAILURE() << "descriptors: " << before.descriptors << " before, now "
                    << Resources{}.descriptors << "; threads: " << before.threads << " before, now "
                    << Resources{}.threads;
      return false;
    }
    std::this_thread::yield();
  }
  return true;
}

/// The kernel's ids of this process's threads of that name.
std::vector<int> threads_named(const std::string& name) {
  std::vector<int> ids;
  for (const std::string& id : entries_of("/proc/self/task")) {
    std::string found;
    std::getline(std::ifstream{"/proc/self/task/" + id + "/comm"}, found);
    if (found == name) {
      ids.push_back(std::stoi(id));
    }
  }
  return ids;
}

std::uint16_t free_port() {
  return SilentListener{}.port();
}

Error start_error(const WorkerConfig& config) {
  return error_of([&config] { const Worker worker{config}; });
}

TEST(WorkerStart, RunsTheThreadsOfTheDesign) {
  std::map<std::string, std::size_t> before;
  const std::vector<std::string> names{"mailbox",       "data",        "device-work-0",
                                       "device-work-1", "responder-0", "supervisor"};
  for (const std::string& name : names) {
    before[name] = threads_named(name).size();
  }
  const Worker worker{config_of("a")};
  for (const std::string& name : names) {
    EXPECT_EQ(threads_named(name).size(), before[name] + 1) << name;
  }
}

TEST(WorkerStart, RefusesWhatItCannotServe) {
  WorkerConfig unknown = config_of("a");
  unknown.device = "mlx5_9";
  const Error device = start_error(unknown);
  EXPECT_EQ(code_name(device), "UnknownDevice");
  EXPECT_THAT(device.message(), HasSubstr("soft0"));

  WorkerConfig rdma = config_of("a");
  rdma.require_rdma = true;
  EXPECT_EQ(code_name(start_error(rdma)), "DeviceUnusable");

  EXPECT_EQ(code_name(start_error(config_of("not an id"))), "InvalidArgument");
  EXPECT_EQ(code_name(start_error(config_of("a", "tcp://192.0.2.1:7000"))), "PermissionDenied");
}

TEST(WorkerStart, OffersTheSoftwareDevicesAskedFor) {
  WorkerConfig config = config_of("a");
  config.soft_devices = 3;
  config.device = "soft2";
  Worker worker{config};
  const auto devices = worker.devices();
  ASSERT_EQ(devices.size(), 3U);
  EXPECT_EQ(devices[2].name, "soft2");
  Buffer first = worker.allocate_buffer(64);
  EXPECT_EQ(first.remote().wire().device_name, "soft2");
  Buffer second = worker.allocate_buffer(64);
  fill(first, pattern(64, 1));
  QueuePair across = worker.queue_pair(worker.ref(), "soft0", "soft1", patience);
  across.put(first, second.remote(), patience);
  EXPECT_EQ(content(second), pattern(64, 1));
}

TEST(WorkerStart, ServesOnAUnixSocket) {
  const std::string path = ::testing::TempDir() + "danaus-" + std::to_string(::getpid()) + ".sock";
  Worker a{config_of("a", "ipc://" + path)};
  EXPECT_EQ(a.ref().at, "ipc://" + path);
  Worker b{config_of("b")};
  Buffer remote = a.allocate_buffer(64);
  Buffer local = b.allocate_buffer(64);
  fill(local, pattern(64, 2));
  b.put(local, remote.remote(), patience);
  EXPECT_EQ(content(remote), pattern(64, 2));
}

TEST(WorkerStart, UndoesItselfWhenTheMailboxPortIsTaken) {
  const std::uint16_t data_port = free_port();
  const Resources before;
  {
    const SilentListener taken;
    WorkerConfig config = config_of("a", taken.endpoint());
    config.data_port = data_port;
    const Error error = start_error(config);
    EXPECT_EQ(code_name(error), "IoFailed");
    EXPECT_THAT(error.message(), HasSubstr(taken.endpoint()));
  }
  EXPECT_TRUE(comes_back_to(before));
  WorkerConfig config = config_of("a");
  config.data_port = data_port;
  EXPECT_NO_THROW(const Worker worker{config}) << "the data port of the failed start is free again";
}

TEST(WorkerStart, UndoesItselfWhenTheDataPortIsTaken) {
  const std::uint16_t port = free_port();
  WorkerConfig config = config_of("a", "tcp://127.0.0.1:" + std::to_string(port));
  const Resources before;
  {
    const SilentListener taken;
    config.data_port = taken.port();
    const Error error = start_error(config);
    EXPECT_EQ(code_name(error), "IoFailed");
    EXPECT_THAT(error.message(), HasSubstr(std::to_string(taken.port())));
  }
  EXPECT_TRUE(comes_back_to(before));
  const Worker worker{config};
  EXPECT_EQ(worker.ref().at, config.bind);
}

TEST(WorkerEnd, LeaksNothingOverManyLives) {
  {
    const Worker first{config_of("a")};
  }  // what libraries keep for good
  const Resources before;
  for (int life = 0; life < 50; ++life) {
    Worker worker{config_of("a")};
    Buffer buffer = worker.allocate_buffer(64, "b");
    Buffer other = worker.allocate_buffer(64);
    worker.put(buffer, other.remote(), patience);
  }
  EXPECT_TRUE(comes_back_to(before));
}

TEST(WorkerEnd, FreesItsPortsForTheNextLife) {
  WorkerConfig config = config_of("a", "tcp://127.0.0.1:" + std::to_string(free_port()));
  config.data_port = free_port();
  for (int life = 0; life < 3; ++life) {
    Worker a{config};
    Worker b{config_of("b")};
    Buffer remote = a.allocate_buffer(64);
    Buffer local = b.allocate_buffer(64);
    EXPECT_NO_THROW(b.put(local, remote.remote(), patience));
  }
}

TEST(WorkerEnd, WaitsForNobodyWithOperationsOutstanding) {
  auto a = std::make_unique<Worker>(config_of("a"));
  auto b = std::make_unique<Worker>(config_of("b"));
  constexpr std::uint64_t size = std::uint64_t{64} << 20U;
  auto local = std::make_unique<Buffer>(a->allocate_buffer(size));
  auto remote = std::make_unique<Buffer>(b->allocate_buffer(size));
  {
    QueuePair queue_pair = a->queue_pair(remote->remote(), patience);
    for (int count = 0; count < 8; ++count) {
      static_cast<void>(queue_pair.post_put(*local, remote->remote()));
    }
  }
  local.reset();
  a.reset();
  remote.reset();
  b.reset();
}

TEST(WorkerEnd, EndsTheCallsThatAreUnderWay) {
  SilentListener peer;
  auto a = std::make_unique<Worker>(config_of("a"));
  auto waiting = std::async(std::launch::async, [&peer, &worker = *a] {
    return worker.request({"silent", peer.endpoint()},
                          messages::ServiceMessage{messages::ListDevices{}}, patience);
  });
  peer.wait_for_connection();
  a.reset();
  const auto reply = waiting.get();
  ASSERT_FALSE(reply);
  EXPECT_EQ(code_name(reply.error()), "ShuttingDown");
}

TEST(WorkerEnd, ABufferThatOutlivesItsWorkerDoesNoHarm) {
  auto a = std::make_unique<Worker>(config_of("a"));
  Buffer late = a->allocate_buffer(64);
  a.reset();
  EXPECT_NO_THROW(late.release());
}

TEST(WorkerTimeouts, ConnectingToAPeerThatIsSilentEndsByTheDeadline) {
  const SilentListener peer;
  Worker a{config_of("a")};
  Buffer local = a.allocate_buffer(64);
  messages::RdmaBuffer handle = local.remote().wire();
  handle.owner = {"silent", peer.endpoint()};
  const std::chrono::milliseconds soon{100};
  EXPECT_EQ(code_name(error_of([&] { a.put(local, RemoteBuffer{handle}, soon); })), "Timeout");
  EXPECT_EQ(code_name(error_of(
                [&] { static_cast<void>(a.queue_pair(handle.owner, "", "soft0", soon)); })),
            "Timeout");
  EXPECT_EQ(
      code_name(
          a.request(handle.owner, messages::ServiceMessage{messages::ListDevices{}}, soon).error()),
      "Timeout");
}

/// Ends the thread that takes the signal, and no other: what a fault in a thread's own code can do.
void vanish(int /*signal*/) {
  ::syscall(SYS_exit, 0);
}

TEST(WorkerFailure, CallsTheHookAndRefusesFurtherCalls) {
  testing::forgive_leaks();
  std::promise<Failure> told;
  WorkerConfig config = config_of("a");
  config.watchdog_timeout = std::chrono::milliseconds{500};
  config.on_failure = [&told](const Failure& failure) { told.set_value(failure); };
  SilentListener peer;
  Worker worker{config};
  auto waiting = std::async(std::launch::async, [&] {
    return worker.request({"silent", peer.endpoint()},
                          messages::ServiceMessage{messages::ListDevices{}}, patience);
  });
  peer.wait_for_connection();
  // SIGPROF is the one asynchronous signal that the worker's threads leave open.
  const auto before = std::signal(SIGPROF, vanish);
  const auto mailbox = threads_named("mailbox");
  ASSERT_FALSE(mailbox.empty());
  // The newest: the kernel's list is in the order of creation.
  ASSERT_EQ(::tgkill(::getpid(), mailbox.back(), SIGPROF), 0);

  const Failure failure = told.get_future().get();
  std::signal(SIGPROF, before);
  EXPECT_EQ(failure.component, "mailbox");
  EXPECT_EQ(code_name(waiting.get().error()), "ShuttingDown");
  const Error refused = error_of([&] { static_cast<void>(worker.devices()); });
  EXPECT_EQ(code_name(refused), "ShuttingDown");
  EXPECT_THAT(refused.message(), AllOf(HasSubstr("has failed"), HasSubstr("mailbox")));
  EXPECT_EQ(code_name(error_of([&] { static_cast<void>(worker.allocate_buffer(64)); })),
            "ShuttingDown");
}

}  // namespace
}  // namespace danaus
