// Requester: receiving.
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "transport/soft/atomic_memory.hpp"
#include "transport/soft/requester.hpp"
#include "transport/soft/system_call.hpp"

namespace danaus::transport::soft {

std::size_t Requester::begin_read() noexcept {
  const bool all_sent = sending_ == outstanding_.size() && !send_broken_;
  if (failed_ || reading_ || connection_.probing() || outstanding_.empty() || !all_sent ||
      chunk_remaining_ != 0 || has_to_copy() || outstanding_.front().awaits_data()) {
    return 0;
  }
  reading_ = connection_.block(read_limit);
  return reading_ ? frames_expected() * sizeof(Response) - inbox_size_ : 0;
}

void Requester::end_read(std::span<const std::byte> bytes) {
  reading_ = false;
  connection_.reading_ended();
  if (!failed_ && !bytes.empty()) {
    std::ranges::copy(bytes, inbox_.begin() + static_cast<std::ptrdiff_t>(inbox_size_));
    inbox_size_ += bytes.size();
    handle_inbox();
  }
}

void Requester::receive(std::uint64_t& budget) {
  if (reading_) {
    return;
  }
  while (!failed_ && !outstanding_.empty()) {
    Flow flow = Flow::stopped;
    if (connection_.probing()) {
      flow = receive_probe();
    } else if (has_to_copy()) {
      flow = copy_payload(budget);
    } else {
      flow = chunk_remaining_ != 0 ? receive_payload(budget) : receive_frames();
    }
    if (flow == Flow::stopped) {
      break;
    }
  }
}

// How many frames come before the next payload can: reading that far reads no payload.
std::size_t Requester::frames_expected() const noexcept {
  std::size_t count = 0;
  for (std::size_t index = 0; index < outstanding_.size() && count < inbox_frames; ++index) {
    const Outstanding& next = outstanding_[index];
    count += next.asked ? 1U : 0U;
    if (next.awaits_data()) {
      break;
    }
  }
  return count;
}

Requester::Flow Requester::receive_frames() {
  const std::size_t wanted = frames_expected() * sizeof(Response) - inbox_size_;
  const ssize_t result =
      ::recv(connection_.socket(), inbox_.data() + inbox_size_, wanted, MSG_DONTWAIT);
  if (result <= 0) {
    return after_receive_error(result == 0 ? 0 : errno);
  }
  inbox_size_ += static_cast<std::size_t>(result);
  if (handle_inbox() == Flow::stopped) {
    return Flow::stopped;
  }
  // A short count: the socket is empty, and asking again would cost a system call to learn it.
  return static_cast<std::size_t>(result) == wanted ? Flow::moved : Flow::stopped;
}

// One system call: a turn's worth of the payload, and the frame after it if that is next.
Requester::Flow Requester::receive_payload(std::uint64_t& budget) {
  Outstanding& current = outstanding_.front();
  const std::uint64_t wanted = std::min(chunk_remaining_, budget);
  if (wanted == 0) {
    return Flow::stopped;
  }
  const Region::Use use = current.region->acquire();
  if (!use) {
    fail(CompletionStatus::local_protection_error);
    return Flow::stopped;
  }
  std::array<::iovec, 2> parts{};
  parts[0] = {for_kernel(current.request.local_address + current.received),
              static_cast<std::size_t>(wanted)};
  parts[1] = {inbox_.data(), sizeof(Response)};
  const bool whole = wanted == chunk_remaining_;
  ::msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = whole ? 2 : 1;
  const ssize_t result = ::recvmsg(connection_.socket(), &message, MSG_DONTWAIT);
  if (result <= 0) {
    return after_receive_error(result == 0 ? 0 : errno);
  }
  const auto received = static_cast<std::uint64_t>(result);
  const std::uint64_t of_payload = std::min(received, wanted);
  current.received += of_payload;
  chunk_remaining_ -= of_payload;
  budget -= of_payload;
  inbox_size_ = static_cast<std::size_t>(received - of_payload);
  if (handle_inbox() == Flow::stopped) {
    return Flow::stopped;
  }
  return received == wanted + (whole ? sizeof(Response) : 0) ? Flow::moved : Flow::stopped;
}

Requester::Flow Requester::after_receive_error(int error) {
  if (error == EINTR) {
    return Flow::moved;
  }
  if (error == EFAULT) {
    fail(CompletionStatus::local_protection_error);
  } else if (!would_block(error) || send_broken_) {
    connection_lost();
  }
  return Flow::stopped;
}

Requester::Flow Requester::handle_inbox() {
  std::size_t handled = 0;
  // Until what was granted has been copied, the rest waits.
  while (!has_to_copy() && inbox_size_ - handled >= sizeof(Response)) {
    std::array<std::byte, sizeof(Response)> frame{};
    std::memcpy(frame.data(), inbox_.data() + handled, frame.size());
    handled += frame.size();
    const auto response = decode_response(frame);
    // Data announced in the midst of frames that were read ahead would be payload read as frames.
    const bool readable = response && !outstanding_.empty() && chunk_remaining_ == 0;
    if (!readable) {
      fail(CompletionStatus::bad_response);
      return Flow::stopped;
    }
    if (handle(*response) == Flow::stopped) {
      return Flow::stopped;
    }
  }
  std::memmove(inbox_.data(), inbox_.data() + handled, inbox_size_ - handled);
  inbox_size_ -= handled;
  if (chunk_remaining_ != 0 && inbox_size_ != 0) {
    fail(CompletionStatus::bad_response);
    return Flow::stopped;
  }
  return Flow::moved;
}

Requester::Flow Requester::handle(const Response& response) {
  Outstanding& current = outstanding_.front();
  const WorkRequest& request = current.request;
  const auto status = static_cast<CompletionStatus>(response.status);
  const std::uint64_t missing = request.length - current.received;
  const bool wholly_sent = sending_ > 0;
  const bool in_turn = response.sequence == current.sequence && (sending_ > 0 || sent_ > 0);
  const bool awaits_data = current.awaits_data();
  const bool awaits_grant = current.copied && request.opcode == Opcode::rdma_read;
  bool fits = false;
  switch (response.kind) {
    case ResponseKind::data:
      fits = awaits_data && wholly_sent && response.length <= missing;
      break;
    case ResponseKind::grant:
      fits = awaits_grant && wholly_sent;
      break;
    case ResponseKind::completion:
      fits = status != CompletionStatus::success ||
             (wholly_sent && !awaits_grant && (!awaits_data || missing == 0));
      break;
  }
  // Only who copies from our memory can meet a fault in it.
  const bool may_blame_us = current.copied && is_write(request.opcode);
  const bool has_value = response.kind == ResponseKind::completion && response.length != 0;
  if (!in_turn || !fits || (has_value && !is_atomic(request.opcode)) ||
      (status == CompletionStatus::local_protection_error && !may_blame_us)) {
    fail(CompletionStatus::bad_response);
    return Flow::stopped;
  }
  if (response.kind == ResponseKind::data) {
    chunk_remaining_ = response.length;
    return Flow::moved;
  }
  if (response.kind == ResponseKind::grant) {
    current.grant = response.length;
    return Flow::moved;
  }
  if (status != CompletionStatus::success) {
    fail(status);
    return Flow::stopped;
  }
  if (is_atomic(request.opcode) && !store_result(current, response.length)) {
    return Flow::stopped;
  }
  if (current.copied && current.region->revoked()) {
    // The peer may have copied what the memory has become since.
    fail(CompletionStatus::local_protection_error);
    return Flow::stopped;
  }
  return complete_front();
}

Requester::Flow Requester::complete_front() {
  finish_front(CompletionStatus::success);
  if (!outstanding_.empty() && outstanding_.front().failure) {
    fail(CompletionStatus::general_error);
    return Flow::stopped;
  }
  return Flow::moved;
}

// The answer to an atomic, to where the caller wants it.
bool Requester::store_result(const Outstanding& current, std::uint64_t value) {
  const Region::Use use = current.region->acquire();
  if (!use) {
    fail(CompletionStatus::local_protection_error);
    return false;
  }
  const auto stored = AtomicMemory::instance().store(current.request.local_address, value);
  if (!stored) {
    fail(stored.error() == AtomicMemory::Failure::fault ? CompletionStatus::local_protection_error
                                                        : CompletionStatus::general_error);
  }
  return stored.has_value();
}

Requester::Flow Requester::receive_probe() {
  switch (connection_.receive_probe()) {
    case ProbeOutcome::waiting:
    case ProbeOutcome::open:
      break;
    case ProbeOutcome::refused:
      dial_next();
      break;
    case ProbeOutcome::lost:
      connection_lost();
      break;
    case ProbeOutcome::garbage:
      fail(CompletionStatus::bad_response);
      break;
  }
  // What can be sent from now on is sent by the next to send.
  return Flow::stopped;
}

}  // namespace danaus::transport::soft
