// Nothing grows without bound: admission, queues to peers, queues of replies.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include <asio/post.hpp>

#include "harness.hpp"
#include "messages/codec.hpp"

namespace danaus::mailbox::testing {
namespace {

TEST(MailboxLimits, AnswerBusyBeyondTheRequestsOfOneClient) {
  Gate gate;
  MailboxConfig config = config_of("server");
  config.limits.requests_per_client = 2;
  RunningMailbox server{config, waiting_at(gate)};
  RunningMailbox greedy{config_of("greedy")};
  RunningMailbox modest{config_of("modest")};
  auto first = greedy.start_asking(server.ref(), numbered(1));
  auto second = greedy.start_asking(server.ref(), numbered(2));
  EXPECT_EQ(greedy.ask_for_error(server.ref(), numbered(3)), ErrorCode::busy);
  auto other = modest.start_asking(server.ref(), numbered(4));
  gate.wait_for_arrivals(3);
  gate.open(server.context());
  EXPECT_EQ(number_in(first.get().body), 1);
  EXPECT_EQ(number_in(second.get().body), 2);
  EXPECT_EQ(number_in(other.get().body), 4);
  EXPECT_EQ(server.counter("refused_busy"), 1);
  EXPECT_EQ(number_in(greedy.ask(server.ref(), numbered(5)).body), 5);
}

TEST(MailboxLimits, AnswerBusyBeyondTheRequestsOfAllAndDropCasts) {
  Gate gate;
  MailboxConfig config = config_of("server");
  config.limits.requests_in_flight = 2;
  RunningMailbox server{config, waiting_at(gate)};
  RunningMailbox one{config_of("one")};
  RunningMailbox two{config_of("two")};
  auto first = one.start_asking(server.ref(), numbered(1));
  gate.wait_for_arrivals(1);
  // A cast occupies a place too.
  two.cast(server.ref(), numbered(2));
  gate.wait_for_arrivals(2);
  EXPECT_EQ(one.ask_for_error(server.ref(), numbered(3)), ErrorCode::busy);
  two.cast(server.ref(), numbered(4));
  EXPECT_EQ(two.ask_for_error(server.ref(), numbered(5)), ErrorCode::busy);
  EXPECT_EQ(server.counter("casts_refused"), 1);
  EXPECT_EQ(server.counter("refused_busy"), 3);
  gate.open(server.context());
  EXPECT_EQ(number_in(first.get().body), 1);
}

TEST(MailboxLimits, AHandlerPastItsDeadlineStillOccupiesItsPlace) {
  Gate gate;
  MailboxConfig config = config_of("server");
  config.limits.requests_in_flight = 1;
  RunningMailbox server{config, waiting_at(gate)};
  RawSocket client{zmq::socket_type::dealer};
  client.socket().connect(server.ref().at);
  messages::Header header = raw_request(server.ref(), 1);
  header.timeout_ms = 1;
  client.send({encode(header), encode_body(numbered(1))});
  EXPECT_EQ(receive_reply(client).body.error().code(), ErrorCode::timeout);
  client.send({encode(raw_request(server.ref(), 2)), encode_body(numbered(2))});
  EXPECT_EQ(receive_reply(client).body.error().code(), ErrorCode::busy);
  gate.open(server.context());
}

TEST(MailboxLimits, SayBusyWhenTooManyRequestsWaitForOnePeer) {
  RawSocket mute{zmq::socket_type::router};
  mute.socket().bind("tcp://127.0.0.1:*");
  const messages::ActorRef peer{"mute", mute.socket().get(zmq::sockopt::last_endpoint)};
  MailboxConfig config = config_of("client");
  config.limits.queued_per_peer = 8;
  RunningMailbox client{config};
  RunningMailbox server{config_of("server")};
  std::vector<std::future<PeerReply>> waiting;
  for (int i = 0; i < 8; ++i) {
    waiting.push_back(client.start_asking(peer, numbered(1)));
  }
  EXPECT_EQ(client.ask_for_error(peer, numbered(1)), ErrorCode::busy);
  // Others are not disturbed.
  EXPECT_EQ(number_in(client.ask(server.ref(), numbered(2)).body), 2);
  (void)mute.receive();
  mute.close();
  for (auto& reply : waiting) {
    EXPECT_EQ(reply.get().body.error().code(), ErrorCode::peer_lost);
  }
}

TEST(MailboxLimits, DropAndCountCastsToAPeerThatDoesNotRead) {
  RawSocket paused{zmq::socket_type::router};
  paused.socket().set(zmq::sockopt::rcvhwm, 1);
  paused.socket().set(zmq::sockopt::rcvbuf, 64 * 1024);
  paused.socket().bind("tcp://127.0.0.1:*");
  const messages::ActorRef peer{"paused", paused.socket().get(zmq::sockopt::last_endpoint)};
  MailboxConfig config = config_of("client");
  config.limits.queued_per_peer = 64;
  RunningMailbox client{config};
  RunningMailbox server{config_of("server")};
  // Twenty megabytes: more than the kernel's buffers take in.
  constexpr int casts = 20'000;
  const messages::Message message =
      messages::ServiceMessage{messages::LookupBuffer{.buffer_name = std::string(1024, 'x')}};
  auto cast_all = [&] {
    for (int i = 0; i < casts; ++i) {
      client.mailbox().cast(peer, std::nullopt, message);
    }
  };
  asio::post(client.context(), cast_all);
  asio::post(client.context(), asio::use_future).get();
  EXPECT_GT(client.counter("casts_dropped"), 0);
  EXPECT_EQ(client.counter("casts_dropped") + client.counter("casts_sent"), casts);
  // Others are not disturbed.
  EXPECT_EQ(number_in(client.ask(server.ref(), numbered(2)).body), 2);
}

/// Counts the requests of the raw client.
asio::awaitable<messages::ReplyBody> answer_at_length(std::atomic<int>* raw, Request request) {
  if (request.from.id == "raw") {
    ++*raw;
  }
  co_return messages::encode(std::string(64 * 1024, 'x'));
}

TEST(MailboxLimits, QueueRepliesForASlowClientAndDropThemBeyondTheBound) {
  std::atomic<int> answered = 0;
  MailboxConfig config = config_of("server");
  config.limits.queued_per_peer = 8;
  RunningMailbox server{
      config, [&](Request request) { return answer_at_length(&answered, std::move(request)); }};
  RunningMailbox bystander{config_of("bystander")};
  RawSocket slow{zmq::socket_type::dealer};
  slow.socket().set(zmq::sockopt::rcvhwm, 1);
  slow.socket().set(zmq::sockopt::rcvbuf, 64 * 1024);
  slow.socket().connect(server.ref().at);
  std::uint64_t sent = 0;
  while (server.counter("replies_dropped") == 0) {
    slow.send({encode(raw_request(server.ref(), sent)), encode_body(numbered(1))});
    ++sent;
    // In step with the server, so that no request is refused as Busy and no reply is yet to be
    // dropped: what it answers a bystander afterwards comes behind its answer here.
    while (std::cmp_less(answered.load(), sent)) {
      EXPECT_TRUE(bystander.ask(server.ref(), numbered(1)).body);
    }
    EXPECT_TRUE(bystander.ask(server.ref(), numbered(1)).body);
    ASSERT_LT(sent, 10'000U);
  }
  // Nothing that was queued is lost: when the client reads again, all but the dropped ones come.
  std::uint64_t expected = 0;
  const std::uint64_t came = sent - server.counter("replies_dropped");
  for (; expected < came; ++expected) {
    EXPECT_EQ(receive_reply(slow).header.id, expected);
  }
}

}  // namespace
}  // namespace danaus::mailbox::testing
