// Peers that are absent, die, restart, or are not who they seem to be.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <optional>

#include "harness.hpp"
#include "mailbox/connection_monitor.hpp"
#include "messages/codec.hpp"

namespace danaus::mailbox::testing {
namespace {

/// A TCP listener that completes connections in the kernel and never says a word.
class MuteListener {
 public:
  MuteListener() : fd_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(fd_, reinterpret_cast<const sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(fd_, 8), 0);
    EXPECT_EQ(::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
  }
  MuteListener(const MuteListener&) = delete;
  MuteListener& operator=(const MuteListener&) = delete;
  ~MuteListener() { close(); }

  [[nodiscard]] std::string endpoint() const { return "tcp://127.0.0.1:" + std::to_string(port_); }
  /// Resets whoever is connected.
  void close() {
    if (fd_ >= 0) {
      ::close(std::exchange(fd_, -1));
    }
  }

 private:
  int fd_;
  std::uint16_t port_ = 0;
};

std::string endpoint_of(RawSocket& socket) {
  socket.socket().bind("tcp://127.0.0.1:*");
  return socket.socket().get(zmq::sockopt::last_endpoint);
}

messages::Header decoded(const std::string& frame) {
  return messages::decode_header(std::as_bytes(std::span{frame})).value();
}

std::string ok(std::uint32_t number) {
  return text(messages::encode_reply(messages::encode(number)));
}

/// A reply of `from` to the request in `frames`.
messages::Header reply_to(const Frames& frames, const std::string& from) {
  const messages::Header request = decoded(frames[1]);
  return {.kind = messages::Kind::reply,
          .id = request.id,
          .to = {request.from.id, request.from.incarnation},
          .from = {from, "", std::nullopt},
          .timeout_ms = std::nullopt};
}

TEST(MailboxConnections, SayUnreachableAtOnceWhenThePortIsClosed) {
  RunningMailbox client{config_of("client")};
  const std::string at = free_endpoint();
  const PeerReply reply = client.ask({"nobody", at}, numbered(1));
  ASSERT_FALSE(reply.body);
  EXPECT_EQ(reply.body.error().code(), ErrorCode::unreachable);
  EXPECT_NE(reply.body.error().message().find("nobody@" + at), std::string::npos);
  EXPECT_EQ(client.counter("connections_refused"), 1);
}

TEST(MailboxConnections, SayUnreachableWhenTheHostNameIsUnknown) {
  RunningMailbox client{config_of("client")};
  EXPECT_EQ(client.ask_for_error({"nobody", "tcp://no-such-host.invalid:4000"}, numbered(1)),
            ErrorCode::unreachable);
}

TEST(MailboxConnections, SayUnreachableWhenTheSocketFileIsMissing) {
  RunningMailbox client{config_of("client")};
  EXPECT_EQ(client.ask_for_error({"nobody", "ipc:///nonexistent/danaus.sock"}, numbered(1)),
            ErrorCode::unreachable);
}

TEST(MailboxConnections, SayUnreachableWhenThePeerHangsUpInTheHandshake) {
  MuteListener listener;
  RunningMailbox client{config_of("client")};
  auto reply = client.start_asking({"mute", listener.endpoint()}, numbered(1));
  // Whether the connection was up by now or not: it ends without a handshake.
  listener.close();
  const PeerReply ended = reply.get();
  ASSERT_FALSE(ended.body);
  EXPECT_EQ(ended.body.error().code(), ErrorCode::unreachable);
}

TEST(MailboxConnections, RefuseABadReference) {
  RunningMailbox client{config_of("client")};
  EXPECT_EQ(client.ask_for_error({"b@d", "tcp://127.0.0.1:1"}, numbered(1)),
            ErrorCode::invalid_argument);
  EXPECT_EQ(client.ask_for_error({"good", "udp://127.0.0.1:1"}, numbered(1)),
            ErrorCode::invalid_argument);
}

TEST(MailboxConnections, AreMadeAnewAfterARefusal) {
  const std::string at = free_endpoint();
  RunningMailbox client{config_of("client")};
  EXPECT_EQ(client.ask_for_error({"server", at}, numbered(1)), ErrorCode::unreachable);
  RunningMailbox server{config_of("server", at)};
  EXPECT_EQ(number_in(client.ask(server.ref(), numbered(2)).body), 2);
}

TEST(MailboxConnections, CountCastsToAnAbsentPeerAsDropped) {
  const std::string at = free_endpoint();
  RunningMailbox client{config_of("client")};
  client.cast({"nobody", at}, numbered(1));
  // The same connection, so that its end has been seen when this returns.
  (void)client.ask({"nobody", at}, numbered(1));
  EXPECT_GE(client.counter("casts_dropped"), 1);
}

TEST(MailboxConnections, EndTheirRequestsWithPeerLostWhenThePeerDies) {
  auto server = std::make_optional<RawSocket>(zmq::socket_type::router);
  const messages::ActorRef peer{"mortal", endpoint_of(*server)};
  RunningMailbox client{config_of("client")};
  auto first = client.start_asking(peer, numbered(1));
  auto second = client.start_asking(peer, numbered(2));
  (void)server->receive();
  (void)server->receive();
  server.reset();
  EXPECT_EQ(first.get().body.error().code(), ErrorCode::peer_lost);
  EXPECT_EQ(second.get().body.error().code(), ErrorCode::peer_lost);
  EXPECT_EQ(client.counter("connections_lost"), 1);
  EXPECT_EQ(client.ask_for_error(peer, numbered(3)), ErrorCode::unreachable);
}

TEST(MailboxConnections, TakeTheRepliesThatAPeerSentBeforeItDied) {
  auto server = std::make_optional<RawSocket>(zmq::socket_type::router);
  server->socket().set(zmq::sockopt::linger, static_cast<int>(ample.count()));
  const messages::ActorRef peer{"mortal", endpoint_of(*server)};
  RunningMailbox client{config_of("client")};
  auto answered = client.start_asking(peer, numbered(1));
  auto lost = client.start_asking(peer, numbered(2));
  const Frames request = server->receive();
  (void)server->receive();
  server->send({request[0], encode(reply_to(request, "mortal")), ok(1)});
  server.reset();
  EXPECT_EQ(number_in(answered.get().body), 1);
  EXPECT_EQ(lost.get().body.error().code(), ErrorCode::peer_lost);
}

TEST(MailboxConnections, DoNotCarryTheMessagesOfOneLifeToTheNext) {
  MuteListener old_life;
  const messages::ActorRef peer{"server", old_life.endpoint()};
  RunningMailbox client{config_of("client")};
  for (int i = 0; i < 100; ++i) {
    client.cast(peer, numbered(1));
  }
  auto asked = client.start_asking(peer, numbered(1));
  old_life.close();
  EXPECT_FALSE(asked.get().body);

  RunningMailbox new_life{config_of("server", peer.at)};
  EXPECT_EQ(number_in(client.ask(peer, numbered(2)).body), 2);
  EXPECT_EQ(new_life.counter("casts_received"), 0);
  EXPECT_EQ(new_life.counter("requests_received"), 1);
  EXPECT_EQ(client.counter("casts_dropped"), 100);
}

TEST(MailboxConnections, RefuseWhatIsForAnEarlierLifeAsStale) {
  auto old_life = std::make_optional<RunningMailbox>(config_of("server"));
  const messages::ActorRef peer = old_life->ref();
  const messages::Incarnation old_incarnation = old_life->mailbox().incarnation();
  RunningMailbox client{config_of("client")};
  EXPECT_EQ(number_in(client.ask(peer, numbered(1), ample, old_incarnation).body), 1);

  old_life.reset();
  RunningMailbox new_life{config_of("server", peer.at)};
  // The loss of the old connection may or may not have been noticed yet.
  PeerReply reply = client.ask(peer, numbered(2), ample, old_incarnation);
  while (!reply.body && reply.body.error().code() == ErrorCode::peer_lost) {
    reply = client.ask(peer, numbered(2), ample, old_incarnation);
  }
  ASSERT_FALSE(reply.body);
  EXPECT_EQ(reply.body.error().code(), ErrorCode::stale_peer);
  EXPECT_EQ(new_life.counter("stale_requests"), 1);
  EXPECT_EQ(number_in(client.ask(peer, numbered(3)).body), 3);
}

TEST(MailboxConnections, TakeAReplyOfAnotherLifeAsStaleThoughThePeerDidNotCheck) {
  RawSocket server{zmq::socket_type::router};
  const messages::ActorRef peer{"server", endpoint_of(server)};
  RunningMailbox client{config_of("client")};
  auto asked = client.start_asking(peer, numbered(1), ample, messages::random_bytes<16>());
  const Frames request = server.receive();
  messages::Header header = reply_to(request, "server");
  header.from.incarnation = messages::random_bytes<16>();
  server.send({request[0], encode(header), ok(1)});
  EXPECT_EQ(asked.get().body.error().code(), ErrorCode::stale_peer);
}

TEST(MailboxConnections, SayWrongAddresseeWhenAnotherManagerLivesThere) {
  RunningMailbox server{config_of("server")};
  RunningMailbox client{config_of("client")};
  const PeerReply reply = client.ask({"someone-else", server.ref().at}, numbered(1));
  ASSERT_FALSE(reply.body);
  EXPECT_EQ(reply.body.error().code(), ErrorCode::wrong_addressee);
  EXPECT_EQ(reply.body.error().details().at("identity"), "server");
  EXPECT_EQ(reply.incarnation, std::nullopt);
  EXPECT_EQ(server.counter("wrong_addressees"), 1);
}

TEST(MailboxConnections, TakeAReplyOnlyFromTheIdentityThatWasAsked) {
  RawSocket server{zmq::socket_type::router};
  const messages::ActorRef peer{"server", endpoint_of(server)};
  RunningMailbox client{config_of("client")};
  auto asked = client.start_asking(peer, numbered(1));
  const Frames request = server.receive();
  server.send({request[0], encode(reply_to(request, "mallory")), ok(666)});
  messages::Header unmatched = reply_to(request, "server");
  ++unmatched.id;
  server.send({request[0], encode(unmatched), ok(667)});
  messages::Header to_another = reply_to(request, "server");
  to_another.to.id = "another";
  server.send({request[0], encode(to_another), ok(668)});
  messages::Header not_a_reply = reply_to(request, "server");
  not_a_reply.kind = messages::Kind::request;
  server.send({request[0], encode(not_a_reply), ok(669)});
  server.send({request[0], "nonsense", ok(670)});
  server.send({request[0], encode(reply_to(request, "server"))});
  server.send({request[0], encode(reply_to(request, "server")), ok(1), ok(671)});
  server.send({request[0], encode(reply_to(request, "server")), ok(1)});
  EXPECT_EQ(number_in(asked.get().body), 1);
  EXPECT_EQ(client.counter("replies_unmatched"), 4);
  EXPECT_EQ(client.counter("replies_malformed"), 3);
}

TEST(MailboxConnections, TakeAReplyOnlyOnTheConnectionOfItsRequest) {
  RawSocket asked_one{zmq::socket_type::router};
  RawSocket other_one{zmq::socket_type::router};
  const messages::ActorRef peer{"server", endpoint_of(asked_one)};
  const messages::ActorRef other{"server", endpoint_of(other_one)};
  RunningMailbox client{config_of("client")};
  auto asked = client.start_asking(peer, numbered(1));
  auto asked_other = client.start_asking(other, numbered(2));
  const Frames request = asked_one.receive();
  const Frames request_to_other = other_one.receive();
  other_one.send({request_to_other[0], encode(reply_to(request, "server")), ok(666)});
  other_one.send({request_to_other[0], encode(reply_to(request_to_other, "server")), ok(2)});
  EXPECT_EQ(number_in(asked_other.get().body), 2);
  asked_one.send({request[0], encode(reply_to(request, "server")), ok(1)});
  EXPECT_EQ(number_in(asked.get().body), 1);
  EXPECT_EQ(client.counter("replies_unmatched"), 1);
}

TEST(MailboxConnections, ReportAReplyBodyThatCannotBeRead) {
  RawSocket server{zmq::socket_type::router};
  const messages::ActorRef peer{"server", endpoint_of(server)};
  RunningMailbox client{config_of("client")};
  auto asked = client.start_asking(peer, numbered(1));
  const Frames request = server.receive();
  server.send({request[0], encode(reply_to(request, "server")), "nonsense"});
  EXPECT_EQ(asked.get().body.error().code(), ErrorCode::malformed);
}

TEST(MailboxConnections, OfOneIdentityAreBothHeardAndGetTheirOwnReplies) {
  RunningMailbox server{config_of("server")};
  RunningMailbox first{config_of("twin")};
  RunningMailbox second{config_of("twin")};
  for (std::uint32_t i = 0; i < 20; ++i) {
    auto asked_by_first = first.start_asking(server.ref(), numbered(2 * i));
    auto asked_by_second = second.start_asking(server.ref(), numbered(2 * i + 1));
    EXPECT_EQ(number_in(asked_by_first.get().body), 2 * i);
    EXPECT_EQ(number_in(asked_by_second.get().body), 2 * i + 1);
  }
}

TEST(MailboxConnections, TakingOverARoutingIdDoNotGetTheRepliesOfTheOneBefore) {
  Gate gate;
  RunningMailbox server{config_of("server"), waiting_at(gate)};
  RawSocket victim{zmq::socket_type::dealer, "victim"};
  victim.socket().connect(server.ref().at);
  victim.send({encode(raw_request(server.ref(), 1)), encode_body(numbered(1))});
  gate.wait_for_arrivals(1);

  RawSocket impostor{zmq::socket_type::dealer, "victim"};
  impostor.socket().connect(server.ref().at);
  impostor.send({encode(raw_request(server.ref(), 2)), encode_body(numbered(2))});
  gate.wait_for_arrivals(2);
  gate.open(server.context());

  const RawReply reply = receive_reply(impostor);
  EXPECT_EQ(reply.header.id, 2U);
  EXPECT_EQ(number_in(reply.body), 2);
  EXPECT_EQ(server.counter("replies_to_replaced_clients"), 1);
}

TEST(MailboxConnections, OfAClientThatVanishedCostOneCountAndNoMore) {
  constexpr std::size_t requests = 200;
  Gate gate;
  RunningMailbox server{config_of("server"), waiting_at(gate)};
  RunningMailbox bystander{config_of("bystander")};
  RawSocket client{zmq::socket_type::dealer};
  client.socket().connect(server.ref().at);
  for (std::size_t i = 0; i < requests; ++i) {
    client.send({encode(raw_request(server.ref(), i)), encode_body(numbered(1))});
  }
  gate.wait_for_arrivals(requests);
  client.close();
  // ZeroMQ does not say when it has noticed; a message to it that is refused does.
  for (std::size_t i = 0; i < requests && server.counter("replies_undeliverable") == 0; ++i) {
    gate.open_for_one(server.context());
    EXPECT_EQ(bystander.ask_for_error({"not-you", server.ref().at}, numbered(1)),
              ErrorCode::wrong_addressee);
  }
  EXPECT_GT(server.counter("replies_undeliverable"), 0);
  gate.open(server.context());
  EXPECT_EQ(number_in(bystander.ask(server.ref(), numbered(9)).body), 9);
}

TEST(ConnectionMonitor, TellsFailedKeysFromAFailedHandshake) {
  EXPECT_EQ(interpret_monitor_event(ZMQ_EVENT_HANDSHAKE_FAILED_AUTH, 400),
            ConnectionEvent::authentication_failed);
  EXPECT_EQ(interpret_monitor_event(ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL,
                                    ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH),
            ConnectionEvent::authentication_failed);
  EXPECT_EQ(interpret_monitor_event(ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL,
                                    ZMQ_PROTOCOL_ERROR_ZMTP_UNEXPECTED_COMMAND),
            ConnectionEvent::handshake_failed);
  EXPECT_EQ(interpret_monitor_event(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL, EPIPE),
            ConnectionEvent::handshake_failed);
  EXPECT_EQ(interpret_monitor_event(ZMQ_EVENT_CONNECTED, 0), std::nullopt);
}

// What a TCP connection to one's own port does, which the kernel may hand out on loopback.
TEST(MailboxConnections, EndWhenTheyLeadBackToOurselves) {
  RawSocket mirror{zmq::socket_type::router};
  const messages::ActorRef peer{"server", endpoint_of(mirror)};
  RunningMailbox client{config_of("client")};
  auto asked = client.start_asking(peer, numbered(1));
  mirror.send(mirror.receive());
  const PeerReply reply = asked.get();
  ASSERT_FALSE(reply.body);
  EXPECT_EQ(reply.body.error().code(), ErrorCode::unreachable);
  EXPECT_NE(reply.body.error().message().find("back to ourselves"), std::string::npos);
  EXPECT_EQ(client.counter("connections_refused"), 1);
}

TEST(MailboxConnections, MayLeadToTheirOwnMailbox) {
  RunningMailbox both{config_of("both")};
  EXPECT_EQ(number_in(both.ask(both.ref(), numbered(7)).body), 7);
}

// libzmq's I/O thread waits in the middle of telling an event that nobody receives.
TEST(MailboxConnections, LeaveTheOthersAliveWhenAnEventComesAfterTheirMonitorWasClosed) {
  asio::io_context context;
  zmq::context_t zmq_context{1};
  ZmqSocket dealer{context, zmq_context, zmq::socket_type::dealer};
  ConnectionMonitor monitor{context, zmq_context, dealer.raw()};
  monitor.watch([](ConnectionEvent) {});
  monitor.close();
  dealer.raw().connect(free_endpoint());

  // The I/O thread takes up what follows after the refusal of that connection.
  zmq::socket_t receiver{zmq_context, zmq::socket_type::pull};
  receiver.set(zmq::sockopt::rcvtimeo, static_cast<int>(ample.count()));
  receiver.bind("tcp://127.0.0.1:*");
  zmq::socket_t sender{zmq_context, zmq::socket_type::push};
  sender.set(zmq::sockopt::linger, 0);
  sender.connect(receiver.get(zmq::sockopt::last_endpoint));
  sender.send(zmq::str_buffer("alive"), zmq::send_flags::dontwait);
  zmq::message_t received;
  EXPECT_TRUE(receiver.recv(received)) << "the I/O thread is stuck";
}

}  // namespace
}  // namespace danaus::mailbox::testing
