// The soft device's passive side: a stream of requests from a peer that may say anything, against
// the real RequestServer over a socket pair. Where a header wants them (rkey 1), it gets the right
// rkey, sequence and base address, so that the memory behind the keys is reached too.
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "messages/bytes.hpp"
#include "tests/fuzz/soft_end.hpp"
#include "transport/soft/completion_channel.hpp"
#include "transport/soft/file_descriptor.hpp"
#include "transport/soft/frame.hpp"
#include "transport/soft/request_server.hpp"

namespace {

using namespace danaus::transport::soft;  // NOLINT(google-build-using-namespace): a fuzz target
using danaus::transport::QueuePairConfig;
using danaus::transport::WorkCompletion;
namespace messages = danaus::messages;

struct Responder {
  danaus::fuzz::SoftEnd end;
  std::array<FileDescriptor, 2> sockets;
  std::shared_ptr<QueuePairCore> queue_pair;
  std::optional<RequestServer> server;

  explicit Responder(bool within_host) {
    std::array<int, 2> pair{};
    danaus::fuzz::check(
        ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair.data()) == 0,
        "there is a socket pair");
    sockets = {FileDescriptor{pair[0]}, FileDescriptor{pair[1]}};
    messages::QpInfo local;
    local.qp_num = 1;
    local.soft.emplace();
    queue_pair = std::make_shared<QueuePairCore>(local, end.regions, QueuePairConfig{},
                                                 *CompletionChannel::make(), end.engine);
    messages::QpInfo remote;
    remote.qp_num = 2;
    remote.soft.emplace();
    queue_pair->connect(remote).value();
    auto peer =
        within_host ? PeerProcess::of(sockets[1].get()) : std::unexpected{std::error_code{}};
    server.emplace(sockets[1].get(), queue_pair, end.engine->counters,
                   peer ? std::optional{*std::move(peer)} : std::nullopt);
  }
  Responder(const Responder&) = delete;
  Responder& operator=(const Responder&) = delete;
  ~Responder() { queue_pair->close(); }
};

/// The input with what it cannot know put in.
std::vector<std::uint8_t> with_keys(const std::uint8_t* data, std::size_t size,
                                    const danaus::fuzz::SoftEnd& end) {
  std::vector<std::uint8_t> stream{data, data + size};
  std::uint32_t sequence = 0;
  std::size_t at = 0;
  while (at + sizeof(RequestHeader) <= stream.size()) {
    RequestHeader header;
    std::memcpy(&header, stream.data() + at, sizeof header);
    if (header.rkey == 1) {
      header.rkey = end.region->rkey();
      header.remote_address += end.region->range().address();
      header.sequence = sequence;
      if (header.flags == by_copy && header.opcode != danaus::transport::Opcode::rdma_read) {
        header.operands[0] += end.region->range().address();
        header.operands[2] = end.region->live_keys().lkey_address();
        header.operands[3] = end.region->lkey();
      }
    }
    ++sequence;
    std::memcpy(stream.data() + at, &header, sizeof header);
    const bool has_payload = header.flags == 0 && (header.opcode == danaus::transport::Opcode{0} ||
                                                   header.opcode == danaus::transport::Opcode{1});
    at += sizeof header + (has_payload && header.length < size ? header.length : 0);
  }
  return stream;
}

/// Steps until it is done, or needs more than there is. False: this is the end.
bool finish(Responder& responder, Step (RequestServer::*step)()) {
  for (int turns = 0; turns < 4096; ++turns) {
    switch (((*responder.server).*step)()) {
      case Step::done:
        return true;
      case Step::next_turn:
        break;
      case Step::writable: {
        std::array<std::byte, 65536> bin{};
        if (::recv(responder.sockets[0].get(), bin.data(), bin.size(), MSG_DONTWAIT) <= 0) {
          return false;
        }
        break;
      }
      case Step::receive_posted:
        if (!responder.queue_pair->post_receive(1)) {
          return false;
        }
        break;
      case Step::readable:
        // `drained` says so once before asking.
        if (turns > 2) {
          return false;
        }
        break;
      case Step::lost:
        return false;
    }
  }
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0 || size > 65536) {
    return 0;
  }
  Responder responder{(data[0] & 1U) != 0};
  const auto stream = with_keys(data + 1, size - 1, responder.end);
  if (::send(responder.sockets[0].get(), stream.data(), stream.size(), MSG_NOSIGNAL) < 0) {
    return 0;
  }
  ::shutdown(responder.sockets[0].get(), SHUT_WR);
  while (finish(responder, &RequestServer::receive_header)) {
    responder.server->begin_request();
    if (!finish(responder, &RequestServer::move_payload) ||
        !finish(responder, &RequestServer::deliver_immediate) ||
        !finish(responder, &RequestServer::send_status) || responder.server->failed()) {
      break;
    }
  }
  responder.end.check_surroundings();
  return 0;
}
