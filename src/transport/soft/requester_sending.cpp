// Requester: sending.
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "transport/soft/requester.hpp"
#include "transport/soft/system_call.hpp"

namespace danaus::transport::soft {
namespace {

decltype(RequestHeader::operands) operands_of(const WorkRequest& request) noexcept {
  if (is_atomic(request.opcode)) {
    const bool swaps = request.opcode == Opcode::atomic_compare_and_swap;
    return {request.compare_add, swaps ? request.swap : 0};
  }
  if (request.opcode == Opcode::rdma_write_with_immediate) {
    return {0, request.immediate};
  }
  return {};
}

}  // namespace

bool Requester::wants_to_send() const noexcept {
  return !failed_ && !send_broken_ && !connection_.probing() && sending_ < outstanding_.size() &&
         !outstanding_[sending_].failure && !has_to_wait();
}

// The peer is through with a get by copy when it has granted it, but we have not read its memory
// yet: what changes memory must not overtake us.
bool Requester::has_to_wait() const noexcept {
  return copied_gets_ != 0 && outstanding_[sending_].changes_memory();
}

void Requester::send(std::uint64_t& budget) {
  while (wants_to_send()) {
    Outstanding& current = outstanding_[sending_];
    if (sent_ == 0) {
      current.sequence = next_sequence_;
      if (!check_local(current)) {
        current.failure = CompletionStatus::local_protection_error;
        break;
      }
      current.copied = copies(current.request.length) && !is_atomic(current.request.opcode);
      if (current.copied && take_as_granted(current)) {
        continue;
      }
    }
    if (send_some(current, budget) == Flow::stopped) {
      break;
    }
  }
  if (!failed_ && !outstanding_.empty() && outstanding_.front().failure) {
    fail(CompletionStatus::general_error);
  }
}

// A get of what is known to be granted is neither sent nor answered, unless it would overtake what
// changes memory.
bool Requester::take_as_granted(Outstanding& current) noexcept {
  const WorkRequest& request = current.request;
  if (current.changes_memory() || sent_changes_ != 0) {
    return false;
  }
  current.grant = known_grants_.witness_of(request.rkey, request.remote_address, request.length);
  if (current.grant == 0) {
    return false;
  }
  current.asked = false;
  ++sending_;
  count_sent(current, 1);
  return true;
}

// `change`: 1 when it is sent, -1 when it is over.
void Requester::count_sent(const Outstanding& current, int change) noexcept {
  if (current.changes_memory()) {
    sent_changes_ += change;
  } else if (current.copied) {
    copied_gets_ += change;
  }
}

// Whether the work request may use the local memory that it names.
bool Requester::check_local(Outstanding& current) {
  const WorkRequest& request = current.request;
  if (request.length == 0) {
    return true;
  }
  if (last_region_ == nullptr || last_region_->lkey() != request.lkey || last_region_->revoked()) {
    last_region_ = regions_->find_local(request.lkey);
  }
  current.region = last_region_;
  return current.region != nullptr && !current.region->revoked() &&
         current.region->contains(request.local_address, request.length) &&
         (is_write(request.opcode) || has(current.region->access(), AccessFlags::local_write));
}

RequestHeader Requester::header_of(const Outstanding& current) const noexcept {
  const WorkRequest& request = current.request;
  RequestHeader header{.sequence = current.sequence,
                       .opcode = request.opcode,
                       .flags = current.copied ? by_copy : std::uint8_t{0},
                       .reserved = 0,
                       .length = request.length,
                       .remote_address = request.remote_address,
                       .rkey = request.rkey,
                       .operands = operands_of(request)};
  if (current.copied && is_write(request.opcode)) {
    header.operands[0] = request.local_address;
    header.operands[2] = current.region->live_keys().lkey_address();
    header.operands[3] = request.lkey;
  }
  return header;
}

// One system call: what is left of the hello, of the header, and a turn's worth of the payload.
Requester::Flow Requester::send_some(Outstanding& current, std::uint64_t& budget) {
  const WorkRequest& request = current.request;
  const std::uint64_t payload_sent = sent_ - std::min<std::uint64_t>(sent_, sizeof(RequestHeader));
  const std::uint64_t payload = std::min(current.payload_to_send() - payload_sent, budget);
  if (sent_ >= sizeof(RequestHeader) && payload == 0) {
    return Flow::stopped;
  }
  auto header = encode(header_of(current));
  std::array<::iovec, 3> parts{};
  std::size_t count = 0;
  std::uint64_t wanted = 0;
  const auto add = [&](void* start, std::uint64_t length) {
    parts[count++] = {start, static_cast<std::size_t>(length)};
    wanted += length;
  };
  if (const auto hello = connection_.hello_left(); !hello.empty()) {
    add(hello.data(), hello.size());
  }
  if (sent_ < header.size()) {
    add(header.data() + sent_, header.size() - sent_);
  }
  Region::Use use;
  if (payload != 0) {
    use = current.region->acquire();
    if (!use) {
      current.failure = CompletionStatus::local_protection_error;
      return Flow::stopped;
    }
    add(for_kernel(request.local_address + payload_sent), payload);
  }
  ::msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = count;
  const ssize_t result = ::sendmsg(connection_.socket(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (result >= 0) {
    const auto sent = static_cast<std::uint64_t>(result);
    advance_send(current, sent, budget);
    // A short count: the socket is full, or the memory ends there; the next call tells.
    return sent == wanted ? Flow::moved : Flow::stopped;
  }
  if (errno == EINTR) {
    return Flow::moved;
  }
  if (errno == EFAULT) {
    current.failure = CompletionStatus::local_protection_error;
  } else if (!would_block(errno)) {
    // The peer may have said why before it went: reading goes on.
    send_broken_ = true;
  }
  return Flow::stopped;
}

void Requester::advance_send(const Outstanding& current, std::uint64_t sent,
                             std::uint64_t& budget) {
  const std::uint64_t of_hello = std::min<std::uint64_t>(sent, connection_.hello_left().size());
  connection_.hello_sent(static_cast<std::size_t>(of_hello));
  sent -= of_hello;
  const std::uint64_t before = sent_;
  sent_ += sent;
  const std::uint64_t header_left =
      sizeof(RequestHeader) - std::min<std::uint64_t>(before, sizeof(RequestHeader));
  budget -= sent - std::min(sent, header_left);
  if (sent_ == sizeof(RequestHeader) + current.payload_to_send()) {
    ++sending_;
    sent_ = 0;
    ++next_sequence_;
    count_sent(current, 1);
  }
}

}  // namespace danaus::transport::soft
