// The soft device's active side: a Requester with work outstanding, and a responder that may say
// anything, probe and grants included.
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "tests/fuzz/soft_end.hpp"
#include "transport/soft/file_descriptor.hpp"
#include "transport/soft/frame.hpp"
#include "transport/soft/requester.hpp"
#include "transport/soft/route.hpp"

namespace {

using namespace danaus::transport::soft;  // NOLINT(google-build-using-namespace): a fuzz target
using danaus::transport::Opcode;
using danaus::transport::WorkCompletion;
using danaus::transport::WorkRequest;

constexpr std::uint32_t slots = 8;

/// A listener within this host, made once.
struct Listener {
  Route route = unix_address(make_unix_name()).value();
  FileDescriptor socket{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  Listener() {
    danaus::fuzz::check(::bind(socket.get(), reinterpret_cast<const ::sockaddr*>(&route.address),
                               route.address_length) == 0 &&
                            ::listen(socket.get(), 4) == 0,
                        "there is a listener");
  }
};

WorkRequest work(const danaus::fuzz::SoftEnd& end, std::uint64_t id, std::uint8_t choice) {
  constexpr std::array opcodes{Opcode::rdma_write, Opcode::rdma_read,
                               Opcode::rdma_write_with_immediate, Opcode::atomic_fetch_and_add,
                               Opcode::atomic_compare_and_swap};
  WorkRequest request;
  request.id = id;
  request.opcode = opcodes.at(choice % opcodes.size());
  request.local_address = end.region->range().address();
  request.lkey = end.region->lkey();
  request.rkey = end.region->rkey();
  request.remote_address = end.region->range().address();
  request.length = is_atomic(request.opcode) ? 8 : std::uint64_t{choice} * 16;
  return request;
}

}  // namespace

// The first byte: how many requests; then one for each, what it is; then what the responder says,
// after a right probe if the top bit of the first byte says so.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Listener listener;
  static const Nonce nonce;
  const std::size_t requests = size == 0 ? 0 : 1 + data[0] % slots;
  if (size < 1 + requests || size > 65536) {
    return 0;
  }
  danaus::fuzz::SoftEnd end;
  Requester requester{end.regions, slots, end.engine};
  requester.connect({listener.route}, Hello{});
  for (std::size_t i = 0; i < requests; ++i) {
    requester.post(work(end, i, data[1 + i]));
  }
  const FileDescriptor peer{::accept4(listener.socket.get(), nullptr, nullptr, SOCK_CLOEXEC)};
  if ((data[0] & 0x80U) != 0) {
    const auto probe = encode(nonce.probe());
    ::send(peer.get(), probe.data(), probe.size(), MSG_NOSIGNAL);
  }
  std::uint64_t budget = max_turn_length;
  requester.receive(budget);
  requester.send(budget);
  std::vector<std::uint8_t> said{data + 1 + requests, data + size};
  ::send(peer.get(), said.data(), said.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  ::shutdown(peer.get(), SHUT_WR);
  std::size_t completed = 0;
  for (int turns = 0; turns < 1000 && requester.has_outstanding(); ++turns) {
    budget = max_turn_length;
    requester.receive(budget);
    requester.send(budget);
  }
  danaus::fuzz::check(!requester.has_outstanding(), "a stream that ends ends all work");
  std::array<WorkCompletion, slots> completions{};
  completed += requester.take(completions);
  danaus::fuzz::check(completed == requests, "each work request completes once");
  for (std::size_t i = 0; i < completed; ++i) {
    danaus::fuzz::check(completions.at(i).id == i, "in order");
  }
  end.check_surroundings();
  return 0;
}
