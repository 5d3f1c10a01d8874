// A hundred thousand messages against a pipe that does not drain: refused or dropped and counted,
// in bounded memory, without blocking anybody.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstddef>
#include <string>

#include <zmq.hpp>

#include "messages/codec.hpp"
#include "messages/envelope.hpp"
#include "tests/integration/harness/calls.hpp"

namespace danaus::integration {
namespace {

#ifdef __SANITIZE_ADDRESS__
/// A sanitizer makes each message several times slower; what is held is bounded by the build
/// without.
constexpr unsigned many = 20'000;
#else
constexpr unsigned many = 100'000;
#endif
/// What the whole of it may add to a process. Held messages in full would take more than this.
constexpr std::uint64_t allowed_growth = std::uint64_t{96} << 20U;
constexpr auto enough_time = 60s;

/// A client that speaks the wire by itself, so that it can send without waiting for replies.
class RawClient {
 public:
  /// `replies_held`: how many replies may wait here to be read; 0: any number.
  RawClient(const messages::ActorRef& to, int replies_held) : to_{to} {
    socket_.set(zmq::sockopt::routing_id, "raw-client");
    socket_.set(zmq::sockopt::sndhwm, 0);
    socket_.set(zmq::sockopt::rcvhwm, replies_held);
    socket_.set(zmq::sockopt::linger, 0);
    socket_.connect(to.at);
  }

  void send(const messages::Message& message) {
    messages::Header header;
    header.id = ++last_id_;
    header.to.id = to_.id;
    header.from.id = "raw-client";
    header.timeout_ms = static_cast<std::uint32_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(enough_time).count());
    const messages::Bytes head = messages::encode_header(header);
    const messages::Bytes body = messages::encode_message(message);
    socket_.send(zmq::const_buffer{head.data(), head.size()}, zmq::send_flags::sndmore);
    socket_.send(zmq::const_buffer{body.data(), body.size()}, zmq::send_flags::none);
  }

  /// The next reply; nothing where none comes by `deadline`.
  [[nodiscard]] std::optional<messages::ReplyBody> receive(Deadline deadline) {
    zmq::pollitem_t item{socket_.handle(), 0, ZMQ_POLLIN, 0};
    if (zmq::poll(&item, 1, std::chrono::milliseconds{deadline.poll_timeout()}) == 0) {
      return std::nullopt;
    }
    zmq::message_t head;
    zmq::message_t body;
    if (!socket_.recv(head) || !socket_.recv(body)) {
      return std::nullopt;
    }
    auto reply = messages::decode_reply({static_cast<const std::byte*>(body.data()), body.size()});
    EXPECT_THAT(reply, Succeeds());
    return reply ? std::optional{*std::move(reply)} : std::nullopt;
  }

 private:
  messages::ActorRef to_;
  zmq::context_t context_;
  zmq::socket_t socket_{context_, zmq::socket_type::dealer};
  std::uint64_t last_id_ = 0;
};

TEST(APausedPeer, GivesBusyToRequestsThatNeedItAndHoldsUpNobodyElse) {
  Client client;
  const WorkerProcess worker{{.identity = "worker"}};
  WorkerProcess paused{{.identity = "paused"}};
  paused.process().signal(SIGSTOP);
  const std::uint64_t before = resident_size(worker.pid());

  RawClient flood{worker.ref(), 0};
  for (unsigned i = 0; i < many; ++i) {
    flood.send(messages::RequestQueuePair{
        .other = paused.ref(), .self_device = "soft0", .other_device = "soft0"});
  }
  // All but the few that wait for the peer are refused, though the peer is still paused.
  constexpr unsigned waiting_at_most = 5'000;
  EXPECT_TRUE(eventually(
      [&] {
        return worker.stats(client).counters.at("mailbox.refused_busy") >= many - waiting_at_most;
      },
      Deadline{enough_time}));
  const auto reply = flood.receive(Deadline{enough_time});
  ASSERT_TRUE(reply.has_value());
  EXPECT_THAT(*reply, FailsWith(ErrorCode::busy));
  EXPECT_TRUE(worker.answers(client));
  EXPECT_LT(resident_size(worker.pid()), before + allowed_growth);

  paused.process().signal(SIGCONT);
  EXPECT_THAT(ask(client, worker.ref(),
                  messages::RequestQueuePair{
                      .other = paused.ref(), .self_device = "soft0", .other_device = "soft0"}),
              Succeeds());
}

TEST(AClientThatNeverReads, CostsTheWorkerBoundedMemoryAndNobodyElseAnything) {
  Client client;
  const WorkerProcess worker{{.identity = "worker", .buffers = {"data=4096"}}};
  const std::uint64_t before = resident_size(worker.pid());
  RawClient deaf{worker.ref(), 1};
  for (unsigned i = 0; i < many; ++i) {
    deaf.send(messages::GetStats{});
    if (i % 10'000 == 0) {
      EXPECT_TRUE(worker.answers(client));
    }
  }
  EXPECT_TRUE(worker.answers(client));
  EXPECT_LT(resident_size(worker.pid()), before + allowed_growth);
}

TEST(CastsToAPausedWorker, AreDroppedByTheSenderInBoundedMemory) {
  Client client;
  WorkerProcess paused{{.identity = "paused"}};
  ASSERT_TRUE(paused.answers(client));
  paused.process().signal(SIGSTOP);
  const std::uint64_t before = resident_size(::getpid());
  for (unsigned i = 0; i < many; ++i) {
    client.cast(paused.ref(), messages::LookupBuffer{.buffer_name = std::string(200, 'x')});
  }
  EXPECT_LT(resident_size(::getpid()), before + allowed_growth);
  paused.process().signal(SIGCONT);
  Client other;
  EXPECT_TRUE(paused.answers(other));
}

}  // namespace
}  // namespace danaus::integration
