#include "transport/soft/requester.hpp"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "transport/soft/atomic_memory.hpp"
#include "transport/soft/mapping_check.hpp"
#include "transport/soft/system_call.hpp"

namespace danaus::transport::soft {
namespace {

std::uint64_t payload_to_send(const WorkRequest& request, bool copied) noexcept {
  return is_write(request.opcode) && !copied ? request.length : 0;
}

bool expects_data(const WorkRequest& request, bool copied) noexcept {
  return request.opcode == Opcode::rdma_read && request.length != 0 && !copied;
}

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

WorkCompletion completion_of(const WorkRequest& request, CompletionStatus status) noexcept {
  return {.id = request.id,
          .status = status,
          .opcode = completion_opcode(request.opcode),
          .byte_length = request.length};
}

}  // namespace

Requester::Requester(std::shared_ptr<const RegionTable> regions, std::uint32_t max_send_wr,
                     std::shared_ptr<EngineState> engine)
    : regions_{std::move(regions)},
      outstanding_{max_send_wr},
      completions_{max_send_wr},
      connection_{std::move(engine)} {}

void Requester::connect(std::vector<Route> routes, const Hello& hello) {
  connection_.set_routes(std::move(routes), hello);
}

void Requester::post(const WorkRequest& request) {
  if (failed_) {
    completions_.push(completion_of(request, CompletionStatus::work_request_flushed));
    return;
  }
  outstanding_.push(Outstanding{.request = request,
                                .sequence = next_sequence_++,
                                .received = 0,
                                .copied = false,
                                .region = nullptr,
                                .failure = std::nullopt});
  if (!connection_.is_open()) {
    dial_next();
  }
}

std::uint32_t Requester::free_slots() const noexcept {
  return static_cast<std::uint32_t>(outstanding_.capacity() - outstanding_.size() -
                                    completions_.size());
}

bool Requester::wants_to_send() const noexcept {
  return !failed_ && !send_broken_ && !connection_.probing() && sending_ < outstanding_.size() &&
         !outstanding_[sending_].failure && !has_to_wait();
}

// The peer is through with a get by copy when it has granted it, but we have not read its memory
// yet: what changes memory must not overtake us.
bool Requester::has_to_wait() const noexcept {
  return copied_gets_ != 0 && outstanding_[sending_].request.opcode != Opcode::rdma_read;
}

std::size_t Requester::take(std::span<WorkCompletion> completions) noexcept {
  const std::size_t count = std::min(completions.size(), completions_.size());
  for (WorkCompletion& completion : completions.first(count)) {
    completion = completions_.pop();
  }
  return count;
}

bool Requester::peer_hung_up() const noexcept {
  if (!connection_.is_open() || !outstanding_.empty()) {
    return false;
  }
  std::byte byte{};
  const ssize_t count = ::recv(connection_.socket(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return count >= 0 || (!would_block(errno) && errno != EINTR);
}

// -- sending --------------------------------------------------------------------------------------

void Requester::send(std::uint64_t& budget) {
  while (wants_to_send()) {
    Outstanding& current = outstanding_[sending_];
    if (sent_ == 0) {
      if (!check_local(current)) {
        current.failure = CompletionStatus::local_protection_error;
        break;
      }
      current.copied = connection_.peer() != nullptr && !is_atomic(current.request.opcode) &&
                       current.request.length >= copy_threshold;
    }
    if (send_some(current, budget) == Flow::stopped) {
      break;
    }
  }
  if (!failed_ && !outstanding_.empty() && outstanding_.front().failure) {
    fail(CompletionStatus::general_error);
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
  const std::uint64_t payload =
      std::min(payload_to_send(request, current.copied) - payload_sent, budget);
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
  if (sent_ == sizeof(RequestHeader) + payload_to_send(current.request, current.copied)) {
    ++sending_;
    sent_ = 0;
    if (current.copied && current.request.opcode == Opcode::rdma_read) {
      ++copied_gets_;
    }
  }
}

// -- receiving ------------------------------------------------------------------------------------

std::size_t Requester::begin_read() noexcept {
  const bool all_sent = sending_ == outstanding_.size() && !send_broken_;
  if (failed_ || reading_ || connection_.probing() || outstanding_.empty() || !all_sent ||
      chunk_remaining_ != 0 || grant_ != 0 ||
      expects_data(outstanding_.front().request, outstanding_.front().copied)) {
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
    } else if (grant_ != 0) {
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
  while (count < outstanding_.size() && count < inbox_frames) {
    const Outstanding& next = outstanding_[count++];
    if (expects_data(next.request, next.copied)) {
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
  while (grant_ == 0 && inbox_size_ - handled >= sizeof(Response)) {
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
  const bool awaits_data = expects_data(request, current.copied);
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
    grant_ = response.length;
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

// -- copies within one host -----------------------------------------------------------------------

// One system call: a turn's worth of what was granted, from the peer's memory into ours.
Requester::Flow Requester::copy_payload(std::uint64_t& budget) {
  Outstanding& current = outstanding_.front();
  const WorkRequest& request = current.request;
  const std::uint64_t wanted = std::min(request.length - current.received, budget);
  if (wanted == 0) {
    return Flow::stopped;
  }
  const Region::Use use = current.region->acquire();
  if (!use) {
    fail(CompletionStatus::local_protection_error);
    return Flow::stopped;
  }
  const std::uint64_t local = request.local_address + current.received;
  const auto result =
      connection_.peer()->copy(local, request.remote_address + current.received, wanted, grant_);
  if (!result) {
    fail(after_copy_error(result.error().value(), local));
    return Flow::stopped;
  }
  current.received += result->copied;
  budget -= result->copied;
  if (result->copied < wanted) {
    // Memory ends there, on one side or the other: the next call tells.
    return Flow::moved;
  }
  if (result->witness != request.rkey) {
    // Released meanwhile: what was copied may be anything.
    fail(CompletionStatus::remote_access_error);
    return Flow::stopped;
  }
  if (current.received < request.length) {
    return Flow::moved;
  }
  grant_ = 0;
  return complete_front() == Flow::stopped ? Flow::stopped : handle_inbox();
}

CompletionStatus Requester::after_copy_error(int error, std::uint64_t own_address) noexcept {
  switch (error) {
    case EFAULT:
      return is_mapped(own_address, /*writable=*/true) ? CompletionStatus::remote_operation_error
                                                       : CompletionStatus::local_protection_error;
    case ESRCH:
      return CompletionStatus::retry_exceeded;
    default:
      return CompletionStatus::remote_operation_error;
  }
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

// -- the connection -------------------------------------------------------------------------------

void Requester::dial_next() {
  send_broken_ = false;
  if (!connection_.dial_next()) {
    fail(CompletionStatus::retry_exceeded);
  }
}

void Requester::connection_lost() {
  if (!connection_.introduced() && connection_.has_next_route()) {
    dial_next();
    return;
  }
  fail(CompletionStatus::retry_exceeded);
}

void Requester::finish_front(CompletionStatus status) noexcept {
  const Outstanding finished = outstanding_.pop();
  if (finished.copied && finished.request.opcode == Opcode::rdma_read && sending_ > 0) {
    --copied_gets_;
  }
  completions_.push(completion_of(finished.request, status));
  if (sending_ > 0) {
    --sending_;
  } else {
    sent_ = 0;
  }
}

void Requester::fail(CompletionStatus status) noexcept {
  if (failed_) {
    return;
  }
  failed_ = true;
  connection_.close(/*abandoned=*/!outstanding_.empty(), /*being_read=*/reading_);
  grant_ = 0;
  inbox_size_ = 0;
  chunk_remaining_ = 0;
  bool first = true;
  while (!outstanding_.empty()) {
    const auto own = outstanding_.front().failure;
    finish_front(first ? own.value_or(status) : CompletionStatus::work_request_flushed);
    first = false;
  }
  sending_ = 0;
  sent_ = 0;
}

}  // namespace danaus::transport::soft
