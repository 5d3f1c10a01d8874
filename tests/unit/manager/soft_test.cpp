// Managers as they are in a worker: real mailboxes on loopback, the software device, a thread for
// each context.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/executor_work_guard.hpp>

#include "mailbox/mailbox.hpp"
#include "manager/manager.hpp"
#include "transport/soft/soft_engine.hpp"

namespace danaus::manager {
namespace {

using namespace std::chrono_literals;
using mailbox::Clock;
using messages::ActorRef;

class NoFailures final : public FailureSink {
 public:
  void fail(Failure failure) override {
    ADD_FAILURE() << failure.component << ": " << failure.reason;
  }
};

/// Runs a context on a thread of its own for as long as it lives, or until it has nothing left to
/// do.
class ContextThread {
 public:
  explicit ContextThread(asio::io_context& context)
      : context_{context}, work_{context.get_executor()}, thread_{[&context] { context.run(); }} {}
  ContextThread(const ContextThread&) = delete;
  ContextThread& operator=(const ContextThread&) = delete;
  ~ContextThread() {
    context_.stop();
    run_out();
  }
  void run_out() {
    work_.reset();
    if (thread_.joinable()) {
      thread_.join();
    }
  }

 private:
  asio::io_context& context_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::thread thread_;
};

template <class T>
asio::awaitable<void> keep(asio::awaitable<T> work, std::shared_ptr<std::promise<T>> promise) {
  try {
    promise->set_value(co_await std::move(work));
  } catch (...) {
    promise->set_exception(std::current_exception());
  }
}

asio::awaitable<bool> end(mailbox::Mailbox& mailbox, Manager& manager) {
  co_await mailbox.shut_down(2s);
  co_await manager.tear_down();
  co_return true;
}

class Node {
 public:
  explicit Node(const std::string& name, unsigned devices = 1)
      : engine_{{.listen_address = "127.0.0.1",
                 .listen_port = 0,
                 .advertised_address = "127.0.0.1",
                 .responders = 1,
                 .devices = devices},
                data_},
        mailbox_{{.identity = name,
                  .incarnation = messages::random_bytes<16>(),
                  .bind = "tcp://127.0.0.1:*",
                  .advertise = {},
                  .limits = {}},
                 failures_},
        manager_{ManagerConfig{}, mailbox_,          device_work_,
                 data_,           engine_.devices(), [this] { return engine_.counters(); }} {
    mailbox_.serve(
        [this](mailbox::Request request) { return manager_.handle(std::move(request)); });
    for (asio::io_context* const responder : engine_.responder_contexts()) {
      responders_.push_back(std::make_unique<ContextThread>(*responder));
    }
    threads_.push_back(std::make_unique<ContextThread>(data_));
    threads_.push_back(std::make_unique<ContextThread>(device_work_));
    threads_.push_back(std::make_unique<ContextThread>(mailbox_.context()));
  }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  ~Node() {
    EXPECT_TRUE(start(end(mailbox_, manager_)).get());
    engine_.stop();
    for (const auto& responder : responders_) {
      responder->run_out();
    }
    threads_.clear();
  }

  /// Runs it on the mailbox thread.
  template <class T>
  std::future<T> start(asio::awaitable<T> work) {
    auto promise = std::make_shared<std::promise<T>>();
    std::future<T> future = promise->get_future();
    asio::co_spawn(mailbox_.context(), keep(std::move(work), std::move(promise)), asio::detached);
    return future;
  }
  std::future<std::expected<QueuePairHandle, Error>> queue_pair(
      const ActorRef& other, const std::string& self_device = "soft0",
      const std::string& other_device = "soft0",
      std::optional<messages::Incarnation> incarnation = {}) {
    return start(
        manager_.queue_pair(other, incarnation, self_device, other_device, Clock::now() + 10s));
  }
  std::future<std::expected<void, Error>> close(const ActorRef& other) {
    return start(manager_.close_peer(other, "soft0", "soft0", Clock::now() + 10s));
  }
  std::expected<Registration, Error> offer(std::vector<std::byte>& memory,
                                           const std::string& name) {
    return start(manager_.register_buffer(reinterpret_cast<std::uintptr_t>(memory.data()),
                                          memory.size(), name, transport::full_access))
        .get();
  }
  template <messages::DescribedMessage M>
  std::expected<typename M::Reply, Error> ask(const ActorRef& other, M message) {
    return start(
               mailbox::call(mailbox_, other, std::nullopt, std::move(message), Clock::now() + 10s))
        .get();
  }
  [[nodiscard]] const ActorRef& self() const { return mailbox_.self(); }
  [[nodiscard]] messages::Incarnation incarnation() const { return mailbox_.incarnation(); }

 private:
  NoFailures failures_;
  asio::io_context data_;
  asio::io_context device_work_;
  transport::soft::SoftEngine engine_;
  mailbox::Mailbox mailbox_;
  Manager manager_;
  std::vector<std::unique_ptr<ContextThread>> responders_;
  std::vector<std::unique_ptr<ContextThread>> threads_;
};

transport::Operation operation(transport::Opcode opcode, const Registration& local,
                               const messages::RdmaBuffer& remote) {
  return {.opcode = opcode,
          .local_address = local.buffer.addr,
          .lkey = local.lkeys.at("soft0"),
          .remote_address = remote.addr,
          .rkey = remote.rkey,
          .length = remote.size};
}

TEST(SoftManagers, PutAndGetOverTheQueuePairThatTheyConnected) {
  Node a{"a"};
  Node b{"b"};
  std::vector<std::byte> here(1 << 20, std::byte{42});
  std::vector<std::byte> there(1 << 20);
  const auto local = a.offer(here, "here");
  const auto remote = b.offer(there, "there");
  ASSERT_TRUE(local && remote);
  const auto handle = a.queue_pair(b.self(), "", "", b.incarnation()).get();
  ASSERT_TRUE(handle) << handle.error().message();
  const auto put = operation(transport::Opcode::rdma_write, *local, remote->buffer);
  const auto written = handle->operations->run(put, Clock::now() + 10s);
  ASSERT_TRUE(written) << written.error().message();
  EXPECT_EQ(there, here);
  std::ranges::fill(here, std::byte{0});
  const auto get = operation(transport::Opcode::rdma_read, *local, remote->buffer);
  ASSERT_TRUE(handle->operations->run(get, Clock::now() + 10s));
  EXPECT_EQ(here, there);

  // The passive side uses the same pair the other way round.
  const auto back = b.queue_pair(a.self(), "", "", a.incarnation()).get();
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(back->descriptor.qp_num, handle->descriptor.peer_qp_num);
  std::ranges::fill(there, std::byte{7});
  const auto put_back = operation(transport::Opcode::rdma_write, *remote, local->buffer);
  const auto written_back = back->operations->run(put_back, Clock::now() + 10s);
  ASSERT_TRUE(written_back) << written_back.error().message();
  EXPECT_EQ(here, there);
}

TEST(SoftManagers, CarryOutAtomicsForSomebodyElse) {
  Node a{"a"};
  Node b{"b"};
  Node client{"client"};
  std::vector<std::uint64_t> words{0, 40};
  std::vector<std::byte> there(16);
  std::memcpy(there.data(), words.data(), there.size());
  ASSERT_TRUE(b.offer(there, "there"));
  const auto remote = client.ask(b.self(), messages::LookupBuffer{"there"});
  ASSERT_TRUE(remote);
  const auto added = client.ask(a.self(), messages::Atomic{.op = "fetch_add",
                                                           .remote = *remote,
                                                           .offset = 8,
                                                           .add = 2,
                                                           .compare = std::nullopt,
                                                           .swap = std::nullopt,
                                                           .timeout_ms = 10'000});
  ASSERT_TRUE(added) << added.error().message();
  EXPECT_EQ(added->value, 40U);
  EXPECT_EQ(added->transport, "soft");
  const auto swapped = client.ask(a.self(), messages::Atomic{.op = "compare_swap",
                                                             .remote = *remote,
                                                             .offset = 8,
                                                             .add = std::nullopt,
                                                             .compare = 42,
                                                             .swap = 7,
                                                             .timeout_ms = 10'000});
  ASSERT_TRUE(swapped) << swapped.error().message();
  EXPECT_EQ(swapped->value, 42U);
  std::memcpy(words.data(), there.data(), there.size());
  EXPECT_EQ(words, (std::vector<std::uint64_t>{0, 7}));
}

TEST(SoftManagers, TransferForSomebodyElse) {
  Node a{"a"};
  Node b{"b"};
  Node client{"client"};
  std::vector<std::byte> here(3 << 20, std::byte{42});
  std::vector<std::byte> there(3 << 20);
  ASSERT_TRUE(a.offer(here, "here"));
  ASSERT_TRUE(b.offer(there, "there"));
  const auto remote = client.ask(b.self(), messages::LookupBuffer{"there"});
  ASSERT_TRUE(remote);
  const messages::Transfer put{.op = "put",
                               .local = {"here", 0},
                               .remote = *remote,
                               .offset = 0,
                               .length = here.size(),
                               .timeout_ms = 10'000};
  const auto result = client.ask(a.self(), put);
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_EQ(result->bytes, here.size());
  EXPECT_GT(result->seconds, 0.0);
  EXPECT_EQ(result->transport, "soft");
  EXPECT_EQ(there, here);
}

TEST(SoftManagers, CrossAHundredTimes) {
  Node a{"a"};
  Node b{"b"};
  for (int i = 0; i < 100; ++i) {
    auto from_a = a.queue_pair(b.self());
    auto from_b = b.queue_pair(a.self());
    const auto at_a = from_a.get();
    const auto at_b = from_b.get();
    ASSERT_TRUE(at_a) << i << ": " << at_a.error().message();
    ASSERT_TRUE(at_b) << i << ": " << at_b.error().message();
    ASSERT_EQ(at_a->descriptor.qp_num, at_b->descriptor.peer_qp_num) << i;
    ASSERT_EQ(at_b->descriptor.qp_num, at_a->descriptor.peer_qp_num) << i;
    const auto closed = (i % 2 == 0 ? a : b).close((i % 2 == 0 ? b : a).self()).get();
    ASSERT_TRUE(closed) << i << ": " << closed.error().message();
  }
}

TEST(SoftManagers, ConnectTwoDevicesOfOneManagerAndADeviceWithItself) {
  Node a{"a", 2};
  std::vector<std::byte> source(4096, std::byte{42});
  std::vector<std::byte> target(4096);
  const auto local = a.offer(source, "source");
  const auto remote = a.offer(target, "target");
  ASSERT_TRUE(local && remote);
  const auto loopback = a.queue_pair(a.self()).get();
  ASSERT_TRUE(loopback) << loopback.error().message();
  const auto put = operation(transport::Opcode::rdma_write, *local, remote->buffer);
  const auto written = loopback->operations->run(put, Clock::now() + 10s);
  ASSERT_TRUE(written) << written.error().message();
  EXPECT_EQ(target, source);

  std::ranges::fill(target, std::byte{0});
  const auto across = a.queue_pair(a.self(), "soft0", "soft1").get();
  ASSERT_TRUE(across) << across.error().message();
  ASSERT_EQ(remote->buffer.alternates.size(), 1U);
  transport::Operation put_across = put;
  put_across.remote_address = remote->buffer.alternates[0].addr;
  put_across.rkey = remote->buffer.alternates[0].rkey;
  const auto crossed = across->operations->run(put_across, Clock::now() + 10s);
  ASSERT_TRUE(crossed) << crossed.error().message();
  EXPECT_EQ(target, source);
}

TEST(SoftManagers, ReplaceAQueuePairAfterARemoteAccessError) {
  Node a{"a"};
  Node b{"b"};
  std::vector<std::byte> here(4096, std::byte{42});
  std::vector<std::byte> there(4096);
  const auto local = a.offer(here, "here");
  const auto remote = b.offer(there, "there");
  const auto handle = a.queue_pair(b.self()).get();
  ASSERT_TRUE(handle);
  transport::Operation put = operation(transport::Opcode::rdma_write, *local, remote->buffer);
  put.rkey += 1;
  const auto refused = handle->operations->run(put, Clock::now() + 10s);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::remote_access_error);
  const auto renewed = a.queue_pair(b.self()).get();
  ASSERT_TRUE(renewed) << renewed.error().message();
  EXPECT_NE(renewed->operations, handle->operations);
  put.rkey -= 1;
  EXPECT_TRUE(renewed->operations->run(put, Clock::now() + 10s));
  EXPECT_EQ(there, here);
}

}  // namespace
}  // namespace danaus::manager
