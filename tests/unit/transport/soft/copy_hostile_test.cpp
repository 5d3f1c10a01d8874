// Peers within one host that do not keep to the protocol of copies, and a kernel that forbids them.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <functional>

#include "messages/bytes.hpp"
#include "messages/codec.hpp"
#include "soft_fixture.hpp"
#include "transport/soft/copy_probe.hpp"
#include "transport/soft/frame.hpp"
#include "transport/soft/live_keys.hpp"
#include "transport/soft/requester.hpp"
#include "transport/soft/route.hpp"

namespace danaus::transport::soft::testing {
namespace {

constexpr std::size_t copied_length = 64 << 10;

void give_up_after_patience(int socket) {
  const ::timeval limit{.tv_sec = patience.count(), .tv_usec = 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

template <class Frame>
void send_frame(const FileDescriptor& socket, const Frame& frame) {
  const auto bytes = encode(frame);
  ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

/// Its bytes; nothing when the other side closes before.
template <class Frame>
std::optional<std::array<std::byte, sizeof(Frame)>> receive_frame(const FileDescriptor& socket) {
  std::array<std::byte, sizeof(Frame)> bytes{};
  const ssize_t count = ::recv(socket.get(), bytes.data(), bytes.size(), MSG_WAITALL);
  return count == static_cast<ssize_t>(bytes.size()) ? std::optional{bytes} : std::nullopt;
}

// -- requesters that do not keep to it
// --------------------------------------------------------------

class SoftHostileCopier : public ::testing::Test {
 protected:
  SoftHostileCopier() { connect(left_, right_); }

  FileDescriptor dial_within_host() {
    const auto route = unix_address(must(right_.queue_pair->endpoint()).soft->unix_name);
    FileDescriptor socket{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    if (!route || ::connect(socket.get(), reinterpret_cast<const ::sockaddr*>(&route->address),
                            route->address_length) != 0) {
      throw std::runtime_error{"cannot dial the listener"};
    }
    give_up_after_patience(socket.get());
    return socket;
  }
  Hello hello_of_left() {
    const auto endpoint = must(right_.queue_pair->endpoint());
    return {.destination_queue_pair = endpoint.qp_num,
            .source_queue_pair = left_.queue_pair->number(),
            .token = endpoint.soft->token};
  }
  /// A connection that has come as far as requests.
  FileDescriptor introduced() {
    FileDescriptor socket = dial_within_host();
    send_frame(socket, nonce_.probe());
    EXPECT_TRUE(receive_frame<Probe>(socket));
    send_frame(socket, hello_of_left());
    return socket;
  }
  RequestHeader put_by_copy() {
    return {.sequence = 0,
            .opcode = Opcode::rdma_write,
            .flags = by_copy,
            .length = copied_length,
            .remote_address = right_.region->address(),
            .rkey = right_.region->rkey(),
            .operands = {left_.memory.address(), 0, reinterpret_cast<std::uintptr_t>(&witness_),
                         witness_.key.load()}};
  }
  std::optional<CompletionStatus> status_of(const FileDescriptor& socket,
                                            const RequestHeader& request) {
    send_frame(socket, request);
    const auto bytes = receive_frame<Response>(socket);
    const auto response = bytes ? decode_response(*bytes) : std::nullopt;
    return response ? std::optional{static_cast<CompletionStatus>(response->status)} : std::nullopt;
  }

  RunningEngine engine_{RunningEngine::within_host(PathPolicy::automatic)};
  End left_{engine_, copied_length};
  End right_{engine_, copied_length};
  Nonce nonce_;
  LiveKeys::Entry witness_{77, 0, 0};
};

TEST_F(SoftHostileCopier, OneWithoutAProbeIsCutOff) {
  const auto socket = dial_within_host();
  send_frame(socket, hello_of_left());
  EXPECT_FALSE(receive_frame<Probe>(socket));
  engine_.await_counter("malformed_frames", 1);
  EXPECT_EQ(right_.queue_pair->state(), QueuePairState::ready_to_send);
}

TEST_F(SoftHostileCopier, OneWithAWrongNonceIsToldSoAndCutOff) {
  const auto socket = dial_within_host();
  Probe lie = nonce_.probe();
  lie.nonce ^= 1U;
  send_frame(socket, lie);
  const auto bytes = receive_frame<Probe>(socket);
  ASSERT_TRUE(bytes);
  const auto answer = decode_probe(*bytes);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->failure, static_cast<std::uint32_t>(ESRCH));
  send_frame(socket, hello_of_left());
  EXPECT_FALSE(receive_frame<Response>(socket));
  EXPECT_EQ(right_.queue_pair->state(), QueuePairState::ready_to_send);
}

TEST_F(SoftHostileCopier, OneThatKeepsToItIsServed) {
  std::memset(left_.memory.data(), 5, copied_length);
  const auto socket = introduced();
  EXPECT_EQ(status_of(socket, put_by_copy()), CompletionStatus::success);
  EXPECT_EQ(std::memcmp(left_.memory.data(), right_.memory.data(), copied_length), 0);
}

TEST_F(SoftHostileCopier, ASourceWhoseKeyIsGoneIsALocalProtectionError) {
  const auto socket = introduced();
  RequestHeader put = put_by_copy();
  witness_.key = 0;
  EXPECT_EQ(status_of(socket, put), CompletionStatus::local_protection_error);
}

TEST_F(SoftHostileCopier, AnImpossibleSourceIsALocalProtectionError) {
  const auto socket = introduced();
  RequestHeader put = put_by_copy();
  put.operands[0] = ~std::uint64_t{0} - 100;
  EXPECT_EQ(status_of(socket, put), CompletionStatus::local_protection_error);
}

TEST_F(SoftHostileCopier, ACopyWithoutTheRightKeyIsRefusedAndChangesNothing) {
  std::memset(left_.memory.data(), 5, copied_length);
  const auto socket = introduced();
  RequestHeader put = put_by_copy();
  put.rkey ^= 1U;
  EXPECT_EQ(status_of(socket, put), CompletionStatus::remote_access_error);
  EXPECT_EQ(right_.memory.data()[0], std::byte{0});
}

TEST_F(SoftHostileCopier, ACopyOverTcpIsAnInvalidRequest) {
  RunningEngine tcp_engine;
  End left{tcp_engine, copied_length};
  End right{tcp_engine, copied_length};
  connect(left, right);
  FileDescriptor socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  const auto endpoint = must(right.queue_pair->endpoint());
  const auto routes = must(resolve(*endpoint.soft, PathPolicy::tcp));
  ASSERT_EQ(::connect(socket.get(), reinterpret_cast<const ::sockaddr*>(&routes.at(0).address),
                      routes.at(0).address_length),
            0);
  give_up_after_patience(socket.get());
  send_frame(socket, Hello{.destination_queue_pair = endpoint.qp_num,
                           .source_queue_pair = left.queue_pair->number(),
                           .token = endpoint.soft->token});
  RequestHeader put = put_by_copy();
  put.remote_address = right.region->address();
  put.rkey = right.region->rkey();
  EXPECT_EQ(status_of(socket, put), CompletionStatus::remote_invalid_request);
}

// -- responders that do not keep to it
// --------------------------------------------------------------

class SoftHostileGranter : public ::testing::Test {
 protected:
  SoftHostileGranter() {
    const std::string name = make_unix_name();
    const auto route = unix_address(name);
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<const ::sockaddr*>(&route->address),
                     route->address_length),
              0);
    EXPECT_EQ(::listen(listener_.get(), 8), 0);
    give_up_after_patience(listener_.get());
    auto remote = must(left_.queue_pair->endpoint());
    remote.qp_num ^= 2U;
    remote.soft->unix_name = name;
    // The discard port: the way over TCP leads nowhere.
    remote.soft->port = 9;
    must(left_.queue_pair->connect(remote));
    std::memset(remote_.data(), 9, copied_length);
  }

  WorkRequest work(Opcode opcode) {
    return {.id = 1,
            .opcode = opcode,
            .local_address = left_.region->address(),
            .lkey = left_.region->lkey(),
            .remote_address = remote_.address(),
            .rkey = rkey_.key.load(),
            .length = copied_length};
  }
  FileDescriptor accept() {
    FileDescriptor socket{::accept(listener_.get(), nullptr, nullptr)};
    give_up_after_patience(socket.get());
    return socket;
  }
  /// A connection whose first request has come.
  FileDescriptor requested() {
    FileDescriptor socket = accept();
    EXPECT_TRUE(receive_frame<Probe>(socket));
    send_frame(socket, nonce_.probe());
    // Somebody has to drive the requester; nobody polls, so it is the data thread.
    EXPECT_TRUE(receive_frame<Hello>(socket));
    EXPECT_TRUE(receive_frame<RequestHeader>(socket));
    return socket;
  }
  Response grant() {
    return {.sequence = 0,
            .kind = ResponseKind::grant,
            .length = reinterpret_cast<std::uintptr_t>(&rkey_)};
  }
  CompletionStatus outcome() {
    const auto completions = complete(*left_.queue_pair, 1);
    return completions.empty() ? CompletionStatus::success : completions[0].status;
  }

  RunningEngine engine_{RunningEngine::within_host(PathPolicy::automatic)};
  End left_{engine_, copied_length};
  Pages remote_{copied_length};
  LiveKeys::Entry rkey_{4711, 0, 0};
  Nonce nonce_;
  FileDescriptor listener_{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
};

TEST_F(SoftHostileGranter, OneThatKeepsToItIsReadFrom) {
  must(left_.queue_pair->post(work(Opcode::rdma_read)));
  const auto socket = requested();
  send_frame(socket, grant());
  EXPECT_EQ(outcome(), CompletionStatus::success);
  EXPECT_EQ(std::memcmp(left_.memory.data(), remote_.data(), copied_length), 0);
}

TEST_F(SoftHostileGranter, MemoryThatWasReleasedWhileItWasReadIsARemoteAccessError) {
  must(left_.queue_pair->post(work(Opcode::rdma_read)));
  const auto socket = requested();
  rkey_.key = 0;
  send_frame(socket, grant());
  EXPECT_EQ(outcome(), CompletionStatus::remote_access_error);
}

TEST_F(SoftHostileGranter, MemoryReleasedBeforeTheGrantIsNotWrittenAnyMore) {
  must(left_.queue_pair->post(work(Opcode::rdma_read)));
  const auto socket = requested();
  must(left_.region->deregister());
  std::memset(left_.memory.data(), 3, copied_length);
  send_frame(socket, grant());
  EXPECT_EQ(outcome(), CompletionStatus::local_protection_error);
  for (std::size_t i = 0; i < copied_length; ++i) {
    ASSERT_EQ(left_.memory.data()[i], std::byte{3}) << i;
  }
}

TEST_F(SoftHostileGranter, MemoryReleasedAfterATimeoutIsNotWrittenByALateGrant) {
  must(left_.queue_pair->post(work(Opcode::rdma_read)));
  const auto socket = requested();
  left_.queue_pair->move_to_error();
  EXPECT_EQ(outcome(), CompletionStatus::work_request_flushed);
  std::memset(left_.memory.data(), 3, copied_length);
  send_frame(socket, grant());
  EXPECT_FALSE(receive_frame<RequestHeader>(socket));
  for (std::size_t i = 0; i < copied_length; ++i) {
    ASSERT_EQ(left_.memory.data()[i], std::byte{3}) << i;
  }
}

TEST_F(SoftHostileGranter, AnImpossibleWitnessIsARemoteAccessError) {
  must(left_.queue_pair->post(work(Opcode::rdma_read)));
  const auto socket = requested();
  Response lie = grant();
  lie.length = 8;
  send_frame(socket, lie);
  EXPECT_EQ(outcome(), CompletionStatus::remote_access_error);
}

TEST_F(SoftHostileGranter, AGrantOfAPutIsABadResponse) {
  must(left_.queue_pair->post(work(Opcode::rdma_write)));
  const auto socket = requested();
  send_frame(socket, grant());
  EXPECT_EQ(outcome(), CompletionStatus::bad_response);
}

TEST_F(SoftHostileGranter, DataInPlaceOfAGrantIsABadResponse) {
  must(left_.queue_pair->post(work(Opcode::rdma_read)));
  const auto socket = requested();
  send_frame(socket, Response{.sequence = 0, .kind = ResponseKind::data, .length = copied_length});
  EXPECT_EQ(outcome(), CompletionStatus::bad_response);
}

TEST_F(SoftHostileGranter, SuccessWithoutAGrantIsABadResponse) {
  must(left_.queue_pair->post(work(Opcode::rdma_read)));
  const auto socket = requested();
  send_frame(socket, Response{.sequence = 0});
  EXPECT_EQ(outcome(), CompletionStatus::bad_response);
}

TEST_F(SoftHostileGranter, GarbageInPlaceOfAProbeIsABadResponse) {
  must(left_.queue_pair->post(work(Opcode::rdma_read)));
  const auto socket = accept();
  Probe garbage = nonce_.probe();
  garbage.magic = 1;
  send_frame(socket, garbage);
  EXPECT_EQ(outcome(), CompletionStatus::bad_response);
}

TEST_F(SoftHostileGranter, AWrongNonceMeansAnotherWayAndNeverHalfOfThisOne) {
  must(left_.queue_pair->post(work(Opcode::rdma_read)));
  const auto socket = accept();
  Probe lie = nonce_.probe();
  lie.nonce ^= 1U;
  send_frame(socket, lie);
  // The other way leads nowhere here.
  EXPECT_EQ(outcome(), CompletionStatus::retry_exceeded);
  EXPECT_EQ(engine_.counter("refused_copies"), 1U);
}

// -- a kernel that forbids copies
// -------------------------------------------------------------------

/// From now on process_vm_readv(2) fails with EPERM in this process.
void forbid_copies() {
  std::array<::sock_filter, 4> program{{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(::seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const ::sock_fprog filter{.len = program.size(), .filter = program.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
    ::_exit(3);
  }
}

/// A child of this process, and a pipe each way.
class ForkedPeer {
 public:
  explicit ForkedPeer(const std::function<void(int read_fd, int write_fd)>& work) {
    if (::pipe2(to_child_.data(), O_CLOEXEC) != 0 || ::pipe2(from_child_.data(), O_CLOEXEC) != 0) {
      throw std::runtime_error{"pipe2 failed"};
    }
    process_ = ::fork();
    if (process_ == 0) {
      ::close(to_child_[1]);
      ::close(from_child_[0]);
      work(to_child_[0], from_child_[1]);
      ::_exit(0);
    }
    ::close(to_child_[0]);
    ::close(from_child_[1]);
  }
  ForkedPeer(const ForkedPeer&) = delete;
  ForkedPeer& operator=(const ForkedPeer&) = delete;
  ~ForkedPeer() {
    ::close(to_child_[1]);
    ::close(from_child_[0]);
    ::waitpid(process_, nullptr, 0);
  }
  [[nodiscard]] int read_fd() const { return from_child_[0]; }
  [[nodiscard]] int write_fd() const { return to_child_[1]; }

 private:
  std::array<int, 2> to_child_{};
  std::array<int, 2> from_child_{};
  ::pid_t process_ = -1;
};

void tell(int fd, const std::string& text) {
  const std::uint32_t size = static_cast<std::uint32_t>(text.size());
  ASSERT_EQ(::write(fd, &size, sizeof size), static_cast<ssize_t>(sizeof size));
  ASSERT_EQ(::write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

std::string hear(int fd) {
  std::uint32_t size = 0;
  if (::read(fd, &size, sizeof size) != static_cast<ssize_t>(sizeof size)) {
    return {};
  }
  std::string text(size, '\0');
  std::size_t got = 0;
  while (got < size) {
    const ssize_t count = ::read(fd, text.data() + got, size - got);
    if (count <= 0) {
      return {};
    }
    got += static_cast<std::size_t>(count);
  }
  return text;
}

void exchange_endpoints(End& end, int read_fd, int write_fd) {
  tell(write_fd, messages::to_hex(messages::encode(must(end.queue_pair->endpoint()))));
  must(end.queue_pair->connect(
      messages::decode<messages::QpInfo>(messages::from_hex(hear(read_fd)).value()).value()));
}

class SoftCopyRefusal : public ::testing::TestWithParam<bool> {};

// Whichever of the two may not read the other: both ways go over TCP, for one way alone cannot.
TEST_P(SoftCopyRefusal, LeadsToTcp) {
  const bool child_asks = GetParam();
  const ForkedPeer child{[&](int read_fd, int write_fd) {
    forbid_copies();
    RunningEngine engine{RunningEngine::within_host(PathPolicy::automatic)};
    End end{engine, copied_length};
    std::memset(end.memory.data(), 6, copied_length);
    exchange_endpoints(end, read_fd, write_fd);
    tell(write_fd, std::to_string(end.region->address()));
    tell(write_fd, std::to_string(end.region->rkey()));
    if (child_asks) {
      WorkRequest put{.id = 1,
                      .opcode = Opcode::rdma_write,
                      .local_address = end.region->address(),
                      .lkey = end.region->lkey(),
                      .remote_address = std::stoull(hear(read_fd)),
                      .rkey = std::stoull(hear(read_fd)),
                      .length = copied_length};
      const auto status = run(*end.queue_pair, put);
      tell(write_fd, std::string{to_string(status)} + " " + std::string{end.queue_pair->path()});
    }
    hear(read_fd);
  }};
  RunningEngine engine{RunningEngine::within_host(PathPolicy::automatic)};
  End end{engine, copied_length};
  exchange_endpoints(end, child.read_fd(), child.write_fd());
  const auto remote_address = std::stoull(hear(child.read_fd()));
  const auto rkey = std::stoull(hear(child.read_fd()));
  if (child_asks) {
    tell(child.write_fd(), std::to_string(end.region->address()));
    tell(child.write_fd(), std::to_string(end.region->rkey()));
    EXPECT_EQ(hear(child.read_fd()), std::string{to_string(CompletionStatus::success)} + " tcp");
  } else {
    const WorkRequest get{.id = 1,
                          .opcode = Opcode::rdma_read,
                          .local_address = end.region->address(),
                          .lkey = end.region->lkey(),
                          .remote_address = remote_address,
                          .rkey = rkey,
                          .length = copied_length};
    EXPECT_EQ(run(*end.queue_pair, get), CompletionStatus::success);
    EXPECT_EQ(end.queue_pair->path(), "tcp");
    EXPECT_EQ(engine.counter("refused_copies"), 1U);
  }
  EXPECT_EQ(end.memory.data()[0], std::byte{6});
  EXPECT_EQ(end.memory.data()[copied_length - 1], std::byte{6});
}

INSTANTIATE_TEST_SUITE_P(Sides, SoftCopyRefusal, ::testing::Bool(),
                         [](const auto& instance) -> std::string {
                           return instance.param ? "TheOneThatAsks" : "TheOneThatIsAsked";
                         });

}  // namespace
}  // namespace danaus::transport::soft::testing
