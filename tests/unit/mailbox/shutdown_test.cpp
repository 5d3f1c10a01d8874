// Ends: in order, in the middle of things, and without notice.
#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include <asio/detached.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/post.hpp>

#include "harness.hpp"
#include "messages/codec.hpp"

namespace danaus::mailbox::testing {
namespace {

constexpr std::chrono::milliseconds no_patience{0};

TEST(MailboxShutdown, ReturnsFromRunWhenNothingIsLeft) {
  RecordingSink sink;
  Mailbox mailbox{config_of("m"), sink};
  mailbox.serve(answer_with_number);
  asio::co_spawn(mailbox.context(), mailbox.shut_down(ample), asio::detached);
  mailbox.context().run();
  EXPECT_TRUE(mailbox.context().stopped());
}

TEST(MailboxShutdown, WaitsForActiveHandlersAndSendsTheirReplies) {
  Gate gate;
  RunningMailbox server{config_of("server"), waiting_at(gate)};
  RunningMailbox client{config_of("client")};
  auto asked = client.start_asking(server.ref(), numbered(1));
  gate.wait_for_arrivals(1);
  auto done = asio::co_spawn(server.context(), server.mailbox().shut_down(ample), asio::use_future);
  // New ones are refused meanwhile.
  EXPECT_EQ(client.ask_for_error(server.ref(), numbered(2)), ErrorCode::shutting_down);
  EXPECT_EQ(server.counter("refused_shutting_down"), 1);
  gate.open(server.context());
  EXPECT_EQ(number_in(asked.get().body), 1);
  done.get();
}

TEST(MailboxShutdown, GivesUpOnHandlersWhenItsPatienceIsOver) {
  Gate gate;
  RunningMailbox server{config_of("server"), waiting_at(gate)};
  RunningMailbox client{config_of("client")};
  // Holds the context open, so that it still runs what is posted to it.
  const auto work = asio::make_work_guard(server.context());
  auto asked = client.start_asking(server.ref(), numbered(1));
  gate.wait_for_arrivals(1);
  server.shut_down(no_patience);
  EXPECT_EQ(asked.get().body.error().code(), ErrorCode::peer_lost);
  // The handler ends late: its result is dropped.
  gate.open(server.context());
  asio::post(server.context(), asio::use_future).get();
}

TEST(MailboxShutdown, EndsItsOwnRequestsWithShuttingDown) {
  RawSocket mute{zmq::socket_type::router};
  mute.socket().bind("tcp://127.0.0.1:*");
  const messages::ActorRef peer{"mute", mute.socket().get(zmq::sockopt::last_endpoint)};
  RunningMailbox client{config_of("client")};
  auto asked = client.start_asking(peer, numbered(1));
  (void)mute.receive();
  client.shut_down(ample);
  EXPECT_EQ(asked.get().body.error().code(), ErrorCode::shutting_down);
}

TEST(MailboxShutdown, RefusesWhatComesAfter) {
  RunningMailbox server{config_of("server")};
  // Holds the context open, so that it still runs what is asked of it.
  RunningMailbox client{config_of("client")};
  const auto work = asio::make_work_guard(client.context());
  client.shut_down(ample);
  EXPECT_EQ(client.ask_for_error(server.ref(), numbered(1)), ErrorCode::shutting_down);
  client.cast(server.ref(), numbered(1));
  EXPECT_EQ(client.counter("casts_dropped"), 1);
  client.shut_down(ample);
}

TEST(MailboxShutdown, LeavesTheEndpointFreeForTheNext) {
  auto first = std::make_optional<RunningMailbox>(config_of("m"));
  const std::string at = first->ref().at;
  first->shut_down(ample);
  first.reset();
  RunningMailbox second{config_of("m", at)};
  EXPECT_EQ(number_in(second.ask(second.ref(), numbered(1)).body), 1);
}

TEST(MailboxShutdown, StillDeliversCastsThatWereJustSent) {
  RawSocket server{zmq::socket_type::router};
  server.socket().bind("tcp://127.0.0.1:*");
  const messages::ActorRef peer{"server", server.socket().get(zmq::sockopt::last_endpoint)};
  {
    RunningMailbox client{config_of("client", "")};
    client.cast(peer, numbered(1));
    client.shut_down(ample);
  }
  EXPECT_EQ(server.receive().back(), encode_body(numbered(1)));
}

TEST(MailboxDestruction, IsSafeWithHandlersAndRequestsInFlight) {
  Gate gate;
  RawSocket mute{zmq::socket_type::router};
  mute.socket().bind("tcp://127.0.0.1:*");
  const messages::ActorRef peer{"mute", mute.socket().get(zmq::sockopt::last_endpoint)};
  RunningMailbox client{config_of("client")};
  std::future<PeerReply> to_server;
  std::future<PeerReply> abandoned;
  {
    RunningMailbox server{config_of("server"), waiting_at(gate)};
    to_server = client.start_asking(server.ref(), numbered(1));
    abandoned = server.start_asking(peer, numbered(2));
    gate.wait_for_arrivals(1);
    (void)mute.receive();
    client.cast(server.ref(), numbered(3));
  }
  EXPECT_FALSE(to_server.get().body);
  EXPECT_THROW(abandoned.get(), std::future_error);
}

TEST(MailboxDestruction, IsSafeWithoutEverHavingRun) {
  RecordingSink sink;
  Mailbox mailbox{config_of("m"), sink};
  mailbox.serve(answer_with_number);
  asio::co_spawn(mailbox.context(),
                 mailbox.request({"peer", "tcp://127.0.0.1:1"}, std::nullopt, numbered(1),
                                 Clock::now() + ample),
                 asio::detached);
  mailbox.cast({"peer", "tcp://127.0.0.1:1"}, std::nullopt, numbered(1));
}

asio::awaitable<void> ask_twice(Mailbox* mailbox, messages::ActorRef peer,
                                std::shared_ptr<int> witness) {
  for (int i = 0; i < 2; ++i) {
    (void)co_await mailbox->request(peer, std::nullopt, numbered(1), Clock::now() + ample);
  }
  *witness = 1;
}

TEST(MailboxDestruction, DestroysWhatWaitsOnItsContext) {
  RawSocket mute{zmq::socket_type::router};
  mute.socket().bind("tcp://127.0.0.1:*");
  const messages::ActorRef peer{"mute", mute.socket().get(zmq::sockopt::last_endpoint)};
  auto witness = std::make_shared<int>(0);
  {
    RunningMailbox client{config_of("client")};
    asio::co_spawn(client.context(), ask_twice(&client.mailbox(), peer, witness), asio::detached);
    (void)mute.receive();
  }
  EXPECT_EQ(witness.use_count(), 1);
  EXPECT_EQ(*witness, 0);
}

}  // namespace
}  // namespace danaus::mailbox::testing
