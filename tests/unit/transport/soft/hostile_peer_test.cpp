// Clients that do not keep to the protocol, against the data listener; and a responder that does
// not, against a requester.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "soft_fixture.hpp"
#include "transport/soft/file_descriptor.hpp"
#include "transport/soft/frame.hpp"

namespace danaus::transport::soft::testing {
namespace {

::sockaddr_in loopback(std::uint16_t port) {
  ::sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

void limit_waiting(int socket) {
  const ::timeval limit{.tv_sec = patience.count(), .tv_usec = 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

FileDescriptor dial(std::uint16_t port) {
  FileDescriptor socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  const ::sockaddr_in address = loopback(port);
  if (::connect(socket.get(), reinterpret_cast<const ::sockaddr*>(&address), sizeof address) != 0) {
    throw std::runtime_error{"cannot dial the listener"};
  }
  limit_waiting(socket.get());
  return socket;
}

template <std::size_t N>
void say(const FileDescriptor& socket, const std::array<std::byte, N>& bytes,
         std::size_t size = N) {
  ::send(socket.get(), bytes.data(), size, MSG_NOSIGNAL);
}

/// Whether the other side closes, whatever it says before.
bool is_closed(const FileDescriptor& socket) {
  std::array<std::byte, 4096> bytes{};
  for (;;) {
    const ssize_t count = ::recv(socket.get(), bytes.data(), bytes.size(), 0);
    if (count <= 0) {
      return count == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
    }
  }
}

class SoftHostilePeer : public ::testing::Test {
 protected:
  SoftHostilePeer() { connect(left_, right_); }

  Hello hello_of_left() {
    const auto endpoint = must(right_.queue_pair->endpoint());
    return {.destination_queue_pair = endpoint.qp_num,
            .source_queue_pair = left_.queue_pair->number(),
            .token = endpoint.soft->token};
  }
  FileDescriptor dial_listener() { return dial(engine_.port()); }
  static std::optional<CompletionStatus> status_said_on(const FileDescriptor& socket) {
    std::array<std::byte, sizeof(Response)> bytes{};
    if (::recv(socket.get(), bytes.data(), bytes.size(), MSG_WAITALL) !=
        static_cast<ssize_t>(bytes.size())) {
      return std::nullopt;
    }
    const auto response = decode_response(bytes);
    return response ? std::optional{static_cast<CompletionStatus>(response->status)} : std::nullopt;
  }
  void expect_unharmed() {
    EXPECT_EQ(right_.queue_pair->state(), QueuePairState::ready_to_send);
    EXPECT_EQ(run(*left_.queue_pair, request(Opcode::rdma_write, left_, right_, 64)),
              CompletionStatus::success);
  }

  RunningEngine engine_;
  End left_{engine_, 4096};
  End right_{engine_, 4096};
};

TEST_F(SoftHostilePeer, NoiseInPlaceOfAHelloIsClosedAndCounted) {
  const auto socket = dial_listener();
  std::array<std::byte, sizeof(Hello)> noise{};
  noise.fill(std::byte{0xA5});
  say(socket, noise);
  EXPECT_TRUE(is_closed(socket));
  EXPECT_EQ(engine_.counter("malformed_frames"), 1U);
  expect_unharmed();
}

TEST_F(SoftHostilePeer, AWrongTokenSourceOrNumberIsClosedAndCounted) {
  Hello token = hello_of_left();
  token.token[15] ^= std::byte{1};
  Hello source = hello_of_left();
  source.source_queue_pair ^= 1U;
  Hello number = hello_of_left();
  number.destination_queue_pair ^= 1U;
  for (const Hello& hello : {token, source, number}) {
    const auto socket = dial_listener();
    say(socket, encode(hello));
    EXPECT_TRUE(is_closed(socket));
  }
  engine_.await_counter("rejected_connections", 3);
  expect_unharmed();
}

TEST_F(SoftHostilePeer, ATruncatedHelloHarmsNobody) {
  {
    const auto socket = dial_listener();
    say(socket, encode(hello_of_left()), 17);
  }
  expect_unharmed();
}

TEST(SoftListener, GivesUpOnAHelloThatNeverComes) {
  auto config = RunningEngine::loopback();
  config.hello_timeout = std::chrono::milliseconds{50};
  const RunningEngine engine{config};
  const auto socket = dial(engine.port());
  say(socket, encode(Hello{}), 17);
  EXPECT_TRUE(is_closed(socket));
  EXPECT_EQ(engine.counter("expired_connections"), 1U);
}

TEST(SoftListener, GivesUpOnAQueuePairThatIsNeverConnected) {
  auto config = RunningEngine::loopback();
  config.hello_timeout = std::chrono::milliseconds{50};
  RunningEngine engine{config};
  const End left{engine, 4096};
  const End right{engine, 4096};
  must(left.queue_pair->connect(must(right.queue_pair->endpoint())));
  EXPECT_EQ(run(*left.queue_pair, request(Opcode::rdma_write, left, right, 64)),
            CompletionStatus::retry_exceeded);
  EXPECT_EQ(engine.counter("rejected_connections"), 1U);
}

TEST_F(SoftHostilePeer, AnArmyOfSilentConnectionsIsBoundedAndKeepsNobodyOut) {
  // More than the responders' bound on strangers between them: the oldest make room.
  constexpr std::size_t army = 1100;
  // Both ends of each are in this process.
  constexpr ::rlim_t enough = 2 * army + 200;
  ::rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  if (limit.rlim_max < enough) {
    GTEST_SKIP() << "takes " << enough << " descriptors, the hard limit is " << limit.rlim_max;
  }
  limit.rlim_cur = std::max(limit.rlim_cur, enough);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  std::vector<FileDescriptor> sockets;
  for (std::size_t i = 0; i < army; ++i) {
    sockets.push_back(dial_listener());
  }
  expect_unharmed();
  engine_.await_counter("expired_connections", 1);
}

/// Leaves the process without a free descriptor for as long as it lives.
class NoDescriptors {
 public:
  NoDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const FileDescriptor lowest_free{::dup(STDIN_FILENO)};
    const ::rlimit none{.rlim_cur = static_cast<::rlim_t>(lowest_free.get()),
                        .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  ::rlimit before_{};
};

TEST_F(SoftHostilePeer, WhoeverComesWhenTheDescriptorsHaveRunOutIsTakenOnceThereAreSome) {
  FileDescriptor visitor{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  const ::sockaddr_in address = loopback(engine_.port());
  {
    const NoDescriptors shortage;
    ASSERT_EQ(
        ::connect(visitor.get(), reinterpret_cast<const ::sockaddr*>(&address), sizeof address), 0);
    engine_.await_counter("accept_pauses", 1);
  }
  expect_unharmed();
  limit_waiting(visitor.get());
  say(visitor, std::array<std::byte, sizeof(Hello)>{});
  EXPECT_TRUE(is_closed(visitor));
  engine_.await_counter("malformed_frames", 1);
}

TEST_F(SoftHostilePeer, ASecondConnectionToAQueuePairIsRefused) {
  expect_unharmed();
  const auto socket = dial_listener();
  say(socket, encode(hello_of_left()));
  EXPECT_TRUE(is_closed(socket));
  expect_unharmed();
}

TEST_F(SoftHostilePeer, AnImpossibleRequestEndsItsQueuePairAlone) {
  End other{engine_, 4096};
  End another{engine_, 4096};
  connect(other, another);
  const auto socket = dial_listener();
  say(socket, encode(hello_of_left()));
  say(socket, encode(RequestHeader{.length = ~std::uint64_t{0},
                                   .remote_address = right_.region->address(),
                                   .rkey = right_.region->rkey()}));
  std::array<std::byte, sizeof(Response)> bytes{};
  ASSERT_EQ(::recv(socket.get(), bytes.data(), bytes.size(), MSG_WAITALL),
            static_cast<ssize_t>(bytes.size()));
  const auto response = decode_response(bytes);
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, static_cast<std::uint8_t>(CompletionStatus::remote_invalid_request));
  EXPECT_TRUE(is_closed(socket));
  EXPECT_TRUE(await_state(*right_.queue_pair, QueuePairState::error));
  EXPECT_EQ(run(*other.queue_pair, request(Opcode::rdma_write, other, another, 64)),
            CompletionStatus::success);
}

TEST_F(SoftHostilePeer, AnAtomicOfAWrongFormIsAnInvalidRequest) {
  const auto socket = dial_listener();
  say(socket, encode(hello_of_left()));
  say(socket, encode(RequestHeader{.opcode = Opcode::atomic_fetch_and_add,
                                   .length = 8,
                                   .remote_address = right_.region->address() + 4,
                                   .rkey = right_.region->rkey(),
                                   .operands = {1}}));
  EXPECT_EQ(status_said_on(socket), CompletionStatus::remote_invalid_request);
  EXPECT_TRUE(is_closed(socket));
  EXPECT_TRUE(await_state(*right_.queue_pair, QueuePairState::error));
  EXPECT_EQ(engine_.counter("malformed_frames"), 1U);
  EXPECT_EQ(*right_.memory.data(), std::byte{0});
}

TEST_F(SoftHostilePeer, OneThatLeavesWhileItsWriteWaitsForAReceiveEndsItsQueuePair) {
  {
    const auto socket = dial_listener();
    say(socket, encode(hello_of_left()));
    say(socket, encode(RequestHeader{.opcode = Opcode::rdma_write_with_immediate}));
    engine_.await_counter("puts", 1);
  }
  EXPECT_TRUE(await_state(*right_.queue_pair, QueuePairState::error));
}

TEST_F(SoftHostilePeer, OneThatSendsOnWhileItsWriteWaitsForAReceiveWaitsInOrder) {
  const auto socket = dial_listener();
  say(socket, encode(hello_of_left()));
  for (std::uint32_t i = 0; i < 100; ++i) {
    say(socket,
        encode(RequestHeader{
            .sequence = i, .opcode = Opcode::rdma_write_with_immediate, .operands = {0, i}}));
  }
  engine_.await_counter("puts", 1);
  for (std::uint32_t i = 0; i < 100; ++i) {
    must(right_.queue_pair->post_receive(i));
  }
  const auto completions = complete(*right_.queue_pair, 100);
  ASSERT_EQ(completions.size(), 100U);
  for (std::uint32_t i = 0; i < 100; ++i) {
    EXPECT_EQ(completions[i].immediate, i);
  }
}

TEST_F(SoftHostilePeer, APeerThatSendsOnAfterItsErrorIsCutOff) {
  const auto socket = dial_listener();
  say(socket, encode(hello_of_left()));
  say(socket, encode(RequestHeader{.length = 4096,
                                   .remote_address = right_.region->address() + 1,
                                   .rkey = right_.region->rkey()}));
  std::array<std::byte, sizeof(Response)> bytes{};
  ASSERT_EQ(::recv(socket.get(), bytes.data(), bytes.size(), MSG_WAITALL),
            static_cast<ssize_t>(bytes.size()));
  std::vector<std::byte> noise(1U << 20U);
  while (::send(socket.get(), noise.data(), noise.size(), MSG_NOSIGNAL) > 0) {
  }
  EXPECT_TRUE(await_state(*right_.queue_pair, QueuePairState::error));
}

TEST_F(SoftHostilePeer, APeerThatNeverReadsStopsNobodyElse) {
  End large{engine_, std::size_t{64} << 20U};
  End reader{engine_, std::size_t{64} << 20U};
  connect(reader, large);
  const auto endpoint = must(large.queue_pair->endpoint());
  const auto socket = dial_listener();
  say(socket, encode(Hello{.destination_queue_pair = endpoint.qp_num,
                           .source_queue_pair = reader.queue_pair->number(),
                           .token = endpoint.soft->token}));
  say(socket, encode(RequestHeader{.opcode = Opcode::rdma_read,
                                   .length = large.region->size(),
                                   .remote_address = large.region->address(),
                                   .rkey = large.region->rkey()}));
  engine_.await_counter("gets", 1);
  for (int i = 0; i < 4; ++i) {
    expect_unharmed();
  }
  must(large.region->deregister());
}

// -- responders -----------------------------------------------------------------------------------

class SoftHostileResponder : public ::testing::Test {
 protected:
  SoftHostileResponder() {
    ::sockaddr_in address = loopback(0);
    EXPECT_EQ(
        ::bind(listener_.get(), reinterpret_cast<const ::sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener_.get(), 8), 0);
    ::socklen_t length = sizeof address;
    ::getsockname(listener_.get(), reinterpret_cast<::sockaddr*>(&address), &length);
    limit_waiting(listener_.get());
    auto remote = must(left_.queue_pair->endpoint());
    remote.qp_num ^= 2U;
    remote.soft->port = ntohs(address.sin_port);
    must(left_.queue_pair->connect(remote));
  }

  WorkRequest work(Opcode opcode, std::uint64_t id = 1) {
    return {.id = id,
            .opcode = opcode,
            .local_address = left_.region->address(),
            .lkey = left_.region->lkey(),
            .length = 64};
  }

  /// Posts, answers with `response` and what follows it, and says how the work request ended.
  CompletionStatus status_after(Opcode opcode, const Response& response,
                                std::size_t extra_bytes = 0) {
    return status_after(work(opcode), response, extra_bytes);
  }
  CompletionStatus status_after(const WorkRequest& request, const Response& response,
                                std::size_t extra_bytes = 0) {
    must(left_.queue_pair->post(request));
    const FileDescriptor socket{::accept(listener_.get(), nullptr, nullptr)};
    say(socket, encode(response));
    const std::vector<std::byte> extra(extra_bytes);
    ::send(socket.get(), extra.data(), extra.size(), MSG_NOSIGNAL);
    const auto completions = complete(*left_.queue_pair, 1);
    return completions.empty() ? CompletionStatus::success : completions[0].status;
  }

  RunningEngine engine_;
  End left_{engine_, 4096};
  FileDescriptor listener_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
};

TEST_F(SoftHostileResponder, AnAnswerToAnotherRequestIsABadResponse) {
  EXPECT_EQ(status_after(Opcode::rdma_write, Response{.sequence = 1}),
            CompletionStatus::bad_response);
  EXPECT_EQ(left_.queue_pair->state(), QueuePairState::error);
}

TEST_F(SoftHostileResponder, DataForAPutIsABadResponse) {
  EXPECT_EQ(status_after(Opcode::rdma_write, Response{.kind = ResponseKind::data, .length = 8}, 8),
            CompletionStatus::bad_response);
}

TEST_F(SoftHostileResponder, MoreDataThanAskedForIsABadResponseAndIsNotWritten) {
  EXPECT_EQ(status_after(Opcode::rdma_read, Response{.kind = ResponseKind::data, .length = 65}, 65),
            CompletionStatus::bad_response);
}

TEST_F(SoftHostileResponder, ACompletionBeforeAllDataIsABadResponse) {
  EXPECT_EQ(status_after(Opcode::rdma_read, Response{}), CompletionStatus::bad_response);
}

TEST_F(SoftHostileResponder, AValueForWhatIsNoAtomicIsABadResponse) {
  EXPECT_EQ(status_after(Opcode::rdma_write, Response{.length = 1}),
            CompletionStatus::bad_response);
}

TEST_F(SoftHostileResponder, DataForAnAtomicIsABadResponse) {
  auto add = work(Opcode::atomic_fetch_and_add);
  add.length = atomic_length;
  EXPECT_EQ(status_after(add, Response{.kind = ResponseKind::data, .length = 8}, 8),
            CompletionStatus::bad_response);
}

TEST_F(SoftHostileResponder, NoiseIsABadResponse) {
  EXPECT_EQ(status_after(Opcode::rdma_read, Response{.kind = static_cast<ResponseKind>(9)}),
            CompletionStatus::bad_response);
}

TEST_F(SoftHostileResponder, AStatusThatWasSentBeforeTheConnectionBrokeIsReported) {
  const auto status = static_cast<std::uint8_t>(CompletionStatus::remote_access_error);
  EXPECT_EQ(status_after(Opcode::rdma_write, Response{.status = status}),
            CompletionStatus::remote_access_error);
}

TEST_F(SoftHostileResponder, ADroppedConnectionIsRetryExceeded) {
  must(left_.queue_pair->post(work(Opcode::rdma_write)));
  {
    const FileDescriptor socket{::accept(listener_.get(), nullptr, nullptr)};
  }
  const auto completions = complete(*left_.queue_pair, 1);
  ASSERT_EQ(completions.size(), 1U);
  EXPECT_EQ(completions[0].status, CompletionStatus::retry_exceeded);
}

}  // namespace
}  // namespace danaus::transport::soft::testing
