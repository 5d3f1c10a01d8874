#include "danaus/client.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "silent_listener.hpp"
#include "test_workers.hpp"

namespace danaus {
namespace {

using testing::code_name;
using testing::config_of;
using testing::error_of;
using testing::patience;
using testing::SilentListener;

TEST(Client, CallsAManagerAndGetsATypedReply) {
  Worker worker{config_of("w")};
  Buffer buffer = worker.allocate_buffer(64, "weights");
  Client client;
  const messages::RdmaBuffer found =
      client.call(worker.ref(), messages::LookupBuffer{"weights"}, patience);
  EXPECT_EQ(found, buffer.remote().wire());
  EXPECT_EQ(client.call(worker.ref(), messages::ListDevices{}, patience), worker.devices());
}

TEST(Client, ThrowsTheErrorOfTheManager) {
  Worker worker{config_of("w")};
  Client client;
  EXPECT_EQ(code_name(error_of([&] {
              static_cast<void>(client.call(worker.ref(), messages::LookupBuffer{"x"}, patience));
            })),
            "NotFound");
}

TEST(Client, TellsAManagersErrorFromAFailureToReachIt) {
  Client client;
  bool delivered = false;
  messages::ActorRef gone;
  {
    Worker worker{config_of("w")};
    gone = worker.ref();
    const auto refused = client.request(gone, messages::ServiceMessage{messages::LookupBuffer{"x"}},
                                        patience, &delivered);
    ASSERT_FALSE(refused);
    EXPECT_TRUE(delivered);
    const auto answered = client.request(gone, messages::ServiceMessage{messages::ListDevices{}},
                                         patience, &delivered);
    EXPECT_TRUE(answered);
    EXPECT_TRUE(delivered);
  }
  const auto unreachable =
      client.request(gone, messages::ServiceMessage{messages::ListDevices{}}, patience, &delivered);
  ASSERT_FALSE(unreachable);
  EXPECT_EQ(code_name(unreachable.error()), "Unreachable");
  EXPECT_FALSE(delivered);
}

TEST(Client, EndsByItsDeadlineWhenNobodyAnswers) {
  const SilentListener peer;
  Client client;
  bool delivered = true;
  const auto reply =
      client.request({"silent", peer.endpoint()}, messages::ServiceMessage{messages::ListDevices{}},
                     std::chrono::milliseconds{50}, &delivered);
  ASSERT_FALSE(reply);
  EXPECT_EQ(code_name(reply.error()), "Timeout");
  EXPECT_FALSE(delivered);
}

TEST(Client, RefusesReferencesThatCannotBeDialled) {
  Client client;
  const messages::Message message = messages::ServiceMessage{messages::ListDevices{}};
  EXPECT_EQ(code_name(client.request({"w", ""}, message, patience).error()), "Unreachable");
  EXPECT_EQ(code_name(client.request({"w", "nowhere"}, message, patience).error()),
            "InvalidArgument");
  EXPECT_EQ(
      code_name(client.request({"not an id", "tcp://127.0.0.1:1"}, message, patience).error()),
      "InvalidArgument");
}

TEST(Client, RefusesABadIdentityOfItsOwn) {
  EXPECT_EQ(code_name(error_of([] { Client client{{.identity = "not an id"}}; })),
            "InvalidArgument");
}

TEST(Client, DeliversACastEvenWhenItGoesRightAfterwards) {
  Worker worker{config_of("w")};
  Buffer buffer = worker.allocate_buffer(64, "weights");
  {
    Client owner{{.identity = "w"}};
    owner.cast(worker.ref(),
               messages::ManagerMessage{messages::ReleaseBuffer{buffer.remote().wire()}});
  }
  Client client;
  const auto deadline = std::chrono::steady_clock::now() + patience;
  bool found = true;
  while (found && std::chrono::steady_clock::now() < deadline) {
    found = client
                .request(worker.ref(), messages::ServiceMessage{messages::LookupBuffer{"weights"}},
                         patience)
                .has_value();
  }
  EXPECT_FALSE(found) << "the cast did not arrive";
}

TEST(Client, ServesManyThreads) {
  Worker worker{config_of("w")};
  Client client;
  std::vector<std::thread> threads;
  for (int count = 0; count < 8; ++count) {
    threads.emplace_back([&] {
      for (int round = 0; round < 25; ++round) {
        EXPECT_EQ(client.call(worker.ref(), messages::ListBuffers{}, patience).size(), 0U);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

}  // namespace
}  // namespace danaus
