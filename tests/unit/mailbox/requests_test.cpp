// Requests, replies, casts, errors and deadlines between well-behaved peers.
#include <gtest/gtest.h>

#include <stdexcept>

#include "harness.hpp"
#include "mailbox/fatal_error.hpp"
#include "messages/codec.hpp"

namespace danaus::mailbox::testing {
namespace {

TEST(Mailbox, AnswersARequest) {
  RunningMailbox server{config_of("server")};
  RunningMailbox client{config_of("client")};
  const PeerReply reply = client.ask(server.ref(), numbered(42));
  EXPECT_EQ(number_in(reply.body), 42);
  EXPECT_EQ(reply.incarnation, server.mailbox().incarnation());
}

TEST(Mailbox, AnswersARequestOfItsOwn) {
  RunningMailbox both{config_of("both")};
  EXPECT_EQ(number_in(both.ask(both.ref(), numbered(7)).body), 7);
}

TEST(Mailbox, PassiveMailboxAsksButHasNoEndpoint) {
  RunningMailbox server{config_of("server")};
  RunningMailbox client{config_of("client", "")};
  EXPECT_EQ(client.ref().at, "");
  EXPECT_EQ(number_in(client.ask(server.ref(), numbered(1)).body), 1);
  EXPECT_EQ(server.ask_for_error(client.ref(), numbered(1)), ErrorCode::unreachable);
}

TEST(Mailbox, DecodesATypedReply) {
  RunningMailbox server{config_of("server")};
  RunningMailbox client{config_of("client")};
  const messages::GetQpState message{
      .other = {"other", ""}, .self_device = "3", .other_device = ""};
  auto asked = call(client.mailbox(), server.ref(), std::nullopt, message, Clock::now() + ample);
  const auto state = asio::co_spawn(client.context(), std::move(asked), asio::use_future).get();
  EXPECT_EQ(state.value(), 3U);
}

TEST(Mailbox, MatchesEachOfAThousandInterleavedRepliesToItsRequest) {
  constexpr std::uint32_t requests = 1000;
  Gate gate;
  MailboxConfig config = config_of("server");
  config.limits.requests_per_client = requests;
  RunningMailbox server{config, waiting_at(gate)};
  RunningMailbox client{config_of("client")};
  std::vector<std::future<PeerReply>> replies;
  for (std::uint32_t i = 0; i < requests; ++i) {
    replies.push_back(client.start_asking(server.ref(), numbered(i)));
  }
  gate.wait_for_arrivals(requests);
  gate.open(server.context());
  for (std::uint32_t i = 0; i < requests; ++i) {
    EXPECT_EQ(number_in(replies[i].get().body), i);
  }
}

asio::awaitable<messages::ReplyBody> remember(std::promise<Request>* got, Request request) {
  got->set_value(std::move(request));
  co_return messages::encode(messages::Unit{});
}

TEST(Mailbox, DeliversACastWithoutAReply) {
  std::promise<Request> got;
  RunningMailbox server{config_of("server"),
                        [&](Request request) { return remember(&got, std::move(request)); }};
  RunningMailbox client{config_of("client")};
  client.cast(server.ref(), numbered(5));
  const Request request = got.get_future().get();
  EXPECT_FALSE(request.wants_reply);
  EXPECT_EQ(request.message, numbered(5));
  EXPECT_EQ(request.from.id, "client");
  EXPECT_EQ(request.from.at, client.ref().at);
  EXPECT_EQ(request.from.incarnation, client.mailbox().incarnation());
  EXPECT_EQ(server.counter("casts_received"), 1);
  EXPECT_EQ(server.counter("replies_sent"), 0);
}

asio::awaitable<messages::ReplyBody> refuse(Request) {
  co_return std::unexpected{Error{ErrorCode::not_found, "no such buffer", {{"mr_id", "9"}}}};
}

TEST(Mailbox, CarriesTheHandlersErrorToTheRequester) {
  RunningMailbox server{config_of("server"), refuse};
  RunningMailbox client{config_of("client")};
  const PeerReply reply = client.ask(server.ref(), numbered(1));
  ASSERT_FALSE(reply.body);
  EXPECT_EQ(reply.body.error(), (Error{ErrorCode::not_found, "no such buffer", {{"mr_id", "9"}}}));
  EXPECT_EQ(reply.incarnation, server.mailbox().incarnation());
}

enum class Thrown { danaus_error, standard, out_of_memory, fatal, unknown };

asio::awaitable<messages::ReplyBody> throw_it(Thrown thrown) {
  switch (thrown) {
    case Thrown::danaus_error:
      throw Error{ErrorCode::out_of_range, "beyond the end"};
    case Thrown::standard:
      throw std::out_of_range{"map::at"};
    case Thrown::out_of_memory:
      throw std::bad_alloc{};
    case Thrown::fatal:
      throw FatalError{"the tables disagree"};
    case Thrown::unknown:
      throw 42;  // NOLINT(hicpp-exception-baseclass): that is the point
  }
  co_return messages::ReplyBody{};
}

class ThrowingHandler : public ::testing::TestWithParam<std::tuple<Thrown, ErrorCode, bool>> {};

TEST_P(ThrowingHandler, IsAnsweredWithAnErrorAndIsFatalOnlyWhenTheProcessIsBroken) {
  const auto [thrown, code, is_fatal] = GetParam();
  const Thrown what = thrown;
  RunningMailbox server{config_of("server"), [what](const Request&) { return throw_it(what); }};
  RunningMailbox client{config_of("client")};
  EXPECT_EQ(client.ask_for_error(server.ref(), numbered(1)), code);
  EXPECT_EQ(server.failures().size(), is_fatal ? 1U : 0U);
  // The mailbox goes on.
  EXPECT_EQ(client.ask_for_error(server.ref(), numbered(2)), code);
}

INSTANTIATE_TEST_SUITE_P(
    Mailbox, ThrowingHandler,
    ::testing::Values(std::tuple{Thrown::danaus_error, ErrorCode::out_of_range, false},
                      std::tuple{Thrown::standard, ErrorCode::internal, false},
                      std::tuple{Thrown::out_of_memory, ErrorCode::resource_exhausted, false},
                      std::tuple{Thrown::fatal, ErrorCode::internal, true},
                      std::tuple{Thrown::unknown, ErrorCode::internal, true}));

asio::awaitable<messages::ReplyBody> answer_too_much(Request) {
  co_return messages::encode(std::string(messages::max_part_size, 'x'));
}

TEST(Mailbox, RefusesToSendAReplyThatIsTooLarge) {
  RunningMailbox server{config_of("server"), answer_too_much};
  RunningMailbox client{config_of("client")};
  EXPECT_EQ(client.ask_for_error(server.ref(), numbered(1)), ErrorCode::resource_exhausted);
}

TEST(Mailbox, RefusesToSendARequestThatIsTooLarge) {
  RunningMailbox server{config_of("server")};
  RunningMailbox client{config_of("client")};
  const messages::Message large = messages::ServiceMessage{
      messages::LookupBuffer{.buffer_name = std::string(messages::max_part_size, 'x')}};
  EXPECT_EQ(client.ask_for_error(server.ref(), large), ErrorCode::invalid_argument);
}

TEST(Mailbox, AnswersTimeoutWhenTheHandlerIsLateAndDropsItsResult) {
  Gate gate;
  RunningMailbox server{config_of("server"), waiting_at(gate)};
  RawSocket client{zmq::socket_type::dealer};
  client.socket().connect(server.ref().at);
  messages::Header header = raw_request(server.ref(), 1);
  header.timeout_ms = 1;
  client.send({encode(header), encode_body(numbered(1))});
  const RawReply timeout = receive_reply(client);
  EXPECT_EQ(timeout.header.id, 1U);
  EXPECT_EQ(timeout.body.error().code(), ErrorCode::timeout);

  gate.open(server.context());
  client.send({encode(raw_request(server.ref(), 2)), encode_body(numbered(2))});
  const RawReply next = receive_reply(client);
  EXPECT_EQ(next.header.id, 2U);
  EXPECT_EQ(number_in(next.body), 2);
  EXPECT_EQ(server.counter("deadlines_passed"), 1);
  // The late handler ends some turns of the loop after the gate opens, perhaps behind that reply.
  for (std::uint64_t id = 3; server.counter("late_results") == 0; ++id) {
    ASSERT_LT(id, 1'000U);
    client.send({encode(raw_request(server.ref(), id)), encode_body(numbered(2))});
    EXPECT_EQ(receive_reply(client).header.id, id);
  }
  EXPECT_EQ(server.counter("late_results"), 1);
}

TEST(Mailbox, UsesItsDefaultWhereARequestNamesNoTimeout) {
  Gate gate;
  MailboxConfig config = config_of("server");
  config.default_timeout = std::chrono::milliseconds{1};
  RunningMailbox server{config, waiting_at(gate)};
  RawSocket client{zmq::socket_type::dealer};
  client.socket().connect(server.ref().at);
  client.send({encode(raw_request(server.ref(), 1)), encode_body(numbered(1))});
  EXPECT_EQ(receive_reply(client).body.error().code(), ErrorCode::timeout);
}

TEST(Mailbox, RequestEndsByItsDeadlineWhenThePeerNeverAnswers) {
  RawSocket server{zmq::socket_type::router};
  server.socket().bind("tcp://127.0.0.1:*");
  const std::string at = server.socket().get(zmq::sockopt::last_endpoint);
  RunningMailbox client{config_of("client")};
  const PeerReply reply = client.ask({"silent", at}, numbered(1), std::chrono::milliseconds{50});
  ASSERT_FALSE(reply.body);
  EXPECT_EQ(reply.body.error().code(), ErrorCode::timeout);
  EXPECT_NE(reply.body.error().message().find("silent@" + at), std::string::npos);
  EXPECT_EQ(client.counter("requests_timed_out"), 1);
}

TEST(Mailbox, TellsThePeerHowLongItWillWait) {
  RawSocket server{zmq::socket_type::router};
  server.socket().bind("tcp://127.0.0.1:*");
  RunningMailbox client{config_of("client")};
  const std::string at = server.socket().get(zmq::sockopt::last_endpoint);
  auto reply = client.start_asking({"silent", at}, numbered(1));
  const Frames request = server.receive();
  ASSERT_EQ(request.size(), 3U);
  EXPECT_EQ(request[0].substr(0, 7), "client/");
  EXPECT_EQ(request[0].size(), 7U + 16U);
  const auto header = messages::decode_header(std::as_bytes(std::span{request[1]}));
  ASSERT_TRUE(header);
  EXPECT_GT(header->timeout_ms, 0U);
  EXPECT_LE(header->timeout_ms, ample.count());
  server.close();
  reply.wait();
}

TEST(Mailbox, ServesOverASocketFile) {
  const std::string path =
      ::testing::TempDir() + "danaus-mailbox-" + std::to_string(messages::random_u64()) + ".sock";
  RunningMailbox server{config_of("server", "ipc://" + path)};
  RunningMailbox client{config_of("client", "")};
  EXPECT_EQ(number_in(client.ask(server.ref(), numbered(3)).body), 3);
  RecordingSink sink;
  // A second one there would silently cut the first one off.
  EXPECT_THROW((Mailbox{config_of("second", "ipc://" + path), sink}), Error);
  EXPECT_EQ(number_in(client.ask(server.ref(), numbered(4)).body), 4);
}

}  // namespace
}  // namespace danaus::mailbox::testing
