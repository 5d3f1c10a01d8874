#include "transport/soft/request_server.hpp"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "transport/soft/atomic_memory.hpp"
#include "transport/soft/mapping_check.hpp"
#include "transport/soft/requester.hpp"
#include "transport/soft/system_call.hpp"

namespace danaus::transport::soft {
namespace {

/// For how many bytes a requester may go on sending after its error status.
constexpr std::uint64_t drain_limit = std::uint64_t{64} << 20U;

constexpr std::array<std::byte, 64U << 10U> zeros{};

Counters::Counter& counter_of(Counters& counters, Opcode opcode) noexcept {
  if (is_atomic(opcode)) {
    return counters.atomics;
  }
  return is_write(opcode) ? counters.puts : counters.gets;
}

}  // namespace

Step after_failed_call(int error, Step if_not_ready) noexcept {
  if (would_block(error)) {
    return if_not_ready;
  }
  return error == EINTR ? Step::next_turn : Step::lost;
}

Step RequestServer::receive_header() {
  awaited_ = false;
  if (header_size_ == header_.size()) {
    return Step::done;
  }
  if (std::exchange(drained_, false)) {
    return Step::readable;
  }
  return take_header(
      ::recv(socket_, header_.data() + header_size_, header_.size() - header_size_, MSG_DONTWAIT));
}

Step RequestServer::await_header(int flags) {
  drained_ = false;
  const Step step = take_header(
      ::recv(socket_, header_.data() + header_size_, header_.size() - header_size_, flags));
  awaited_ = step == Step::done;
  return step;
}

Step RequestServer::take_header(std::int64_t result) {
  if (result == 0) {
    return Step::lost;
  }
  if (result < 0) {
    return after_failed_call(errno, Step::readable);
  }
  header_size_ += static_cast<std::size_t>(result);
  return header_size_ == header_.size() ? Step::done : Step::readable;
}

// Checks the request whose header is there.
void RequestServer::begin_request() {
  header_size_ = 0;
  status_ = CompletionStatus::success;
  moved_ = 0;
  chunk_sent_ = 0;
  padding_ = false;
  status_sent_ = 0;
  answer_ = 0;
  const std::uint32_t sequence = next_sequence_++;
  const auto request = decode_request(header_);
  if (!request || request->sequence != sequence || ((request->flags & by_copy) != 0 && !peer_)) {
    count(counters_.malformed_frames);
    request_.sequence = sequence;
    status_ = CompletionStatus::remote_invalid_request;
    return;
  }
  request_ = *request;
  count(counter_of(counters_, request_.opcode));
  if (copied()) {
    count(is_write(request_.opcode) ? counters_.puts_by_copy : counters_.gets_by_copy);
  }
  if (request_.length == 0) {
    return;
  }
  if (region_ == nullptr || region_->rkey() != request_.rkey || region_->revoked()) {
    region_ = queue_pair_->regions().find_remote(request_.rkey);
  }
  const AccessFlags needed = remote_access_for(request_.opcode);
  if (region_ == nullptr || !region_->contains(request_.remote_address, request_.length) ||
      !has(region_->access(), needed)) {
    count(counters_.access_errors);
    status_ = CompletionStatus::remote_access_error;
    return;
  }
  if (copied() && request_.opcode == Opcode::rdma_read) {
    count(counters_.bytes_read, request_.length);
  }
}

Step RequestServer::move_payload() {
  if (padding_) {
    return pad_chunk();
  }
  if (status_ != CompletionStatus::success || moved_ == request_.length) {
    return Step::done;
  }
  if (is_atomic(request_.opcode)) {
    return atomic_turn();
  }
  if (copied()) {
    // A get is granted by its answer.
    return is_write(request_.opcode) ? copy_turn() : Step::done;
  }
  return is_write(request_.opcode) ? put_turn() : get_turn();
}

// What an atomic does, in one go.
Step RequestServer::atomic_turn() {
  const auto turn = queue_pair_->begin_turn();
  if (!turn) {
    return Step::lost;
  }
  const Region::Use use = region_->acquire();
  if (!use) {
    count(counters_.access_errors);
    status_ = CompletionStatus::remote_access_error;
    return Step::done;
  }
  const auto before = AtomicMemory::instance().execute(request_.opcode, request_.remote_address,
                                                       request_.operands[0], request_.operands[1]);
  if (!before) {
    if (before.error() == AtomicMemory::Failure::fault) {
      count(counters_.memory_faults);
    }
    status_ = CompletionStatus::remote_operation_error;
    return Step::done;
  }
  answer_ = *before;
  moved_ = request_.length;
  return Step::done;
}

// After the payload of a write with immediate: there has to be a receive before its end is told.
Step RequestServer::deliver_immediate() {
  if (request_.opcode != Opcode::rdma_write_with_immediate || failed()) {
    return Step::done;
  }
  const auto immediate = static_cast<std::uint32_t>(request_.operands[1]);
  switch (queue_pair_->deliver(immediate, request_.length)) {
    case Delivery::delivered:
      count(counters_.receives);
      return Step::done;
    case Delivery::no_receive:
      return Step::receive_posted;
    case Delivery::refused:
      return Step::lost;
  }
  return Step::lost;
}

// The rest of the payload into memory, and behind it the header of the next request.
std::int64_t RequestServer::receive_with_next_header(std::uint64_t size) {
  std::array<::iovec, 2> parts{};
  parts[0] = {for_kernel(request_.remote_address + moved_), static_cast<std::size_t>(size)};
  parts[1] = {header_.data(), header_.size()};
  ::msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  return ::recvmsg(socket_, &message, MSG_DONTWAIT);
}

// One system call: payload into memory, and with the last of it the header of the next request, if
// that may be there.
Step RequestServer::put_turn() {
  if (std::exchange(drained_, false)) {
    return Step::readable;
  }
  const auto turn = queue_pair_->begin_turn();
  if (!turn) {
    return Step::lost;
  }
  const Region::Use use = region_->acquire();
  if (!use) {
    count(counters_.access_errors);
    status_ = CompletionStatus::remote_access_error;
    return Step::done;
  }
  const std::uint64_t missing = request_.length - moved_;
  const std::uint64_t wanted = std::min(missing, max_turn_length);
  const bool last = wanted == missing;
  const bool read_ahead = last && !awaited_;
  const ssize_t result = read_ahead ? receive_with_next_header(wanted)
                                    : ::recv(socket_, for_kernel(request_.remote_address + moved_),
                                             wanted, MSG_DONTWAIT);
  if (result == 0) {
    return Step::lost;
  }
  if (result < 0) {
    if (errno == EFAULT) {
      count(counters_.memory_faults);
      status_ = CompletionStatus::remote_operation_error;
      return Step::done;
    }
    return after_failed_call(errno, Step::readable);
  }
  const auto received = static_cast<std::uint64_t>(result);
  const std::uint64_t of_payload = std::min(received, wanted);
  moved_ += of_payload;
  count(counters_.bytes_written, of_payload);
  header_size_ = static_cast<std::size_t>(received - of_payload);
  drained_ = received < wanted + (read_ahead ? header_.size() : 0);
  if (moved_ == request_.length) {
    // Who was waited for waits in turn, most likely.
    drained_ = drained_ || awaited_;
    return Step::done;
  }
  return std::exchange(drained_, false) ? Step::readable : Step::next_turn;
}

// One system call of payload: from the requester's memory into ours.
Step RequestServer::copy_turn() {
  const auto turn = queue_pair_->begin_turn();
  // Gone, it may have timed out and given its memory to other uses.
  if (!turn || peer_->is_gone(socket_)) {
    return Step::lost;
  }
  const Region::Use use = region_->acquire();
  if (!use) {
    count(counters_.access_errors);
    status_ = CompletionStatus::remote_access_error;
    return Step::done;
  }
  const auto& [source, unused, witness, key] = request_.operands;
  const std::uint64_t wanted = std::min(request_.length - moved_, max_turn_length);
  const auto result =
      peer_->copy(request_.remote_address + moved_, source + moved_, wanted, witness);
  if (!result) {
    return result.error().value() == EFAULT ? fault(request_.remote_address + moved_) : Step::lost;
  }
  moved_ += result->copied;
  count(counters_.bytes_written, result->copied);
  if (result->copied < wanted) {
    // Memory ends there, on one side or the other: the next call tells.
    return Step::next_turn;
  }
  if (result->witness.key != key) {
    status_ = CompletionStatus::local_protection_error;
    return Step::done;
  }
  return moved_ == request_.length ? Step::done : Step::next_turn;
}

// Memory is missing; whose?
Step RequestServer::fault(std::uint64_t own_address) noexcept {
  const bool own = !is_mapped(own_address, /*writable=*/true);
  count(own ? counters_.memory_faults : counters_.access_errors);
  status_ =
      own ? CompletionStatus::remote_operation_error : CompletionStatus::local_protection_error;
  return Step::done;
}

Response RequestServer::response(ResponseKind kind, std::uint64_t length) const noexcept {
  return {.sequence = request_.sequence,
          .kind = kind,
          .status = static_cast<std::uint8_t>(status_),
          .reserved = 0,
          .length = length};
}

std::uint64_t RequestServer::chunk_length() const noexcept {
  return std::min(request_.length - moved_, max_chunk_length);
}

// One system call: a chunk, its header before it, and behind the last one the completion.
Step RequestServer::get_turn() {
  const auto turn = queue_pair_->begin_turn();
  if (!turn) {
    return Step::lost;
  }
  const std::uint64_t length = chunk_length();
  const bool last = moved_ + length == request_.length;
  const Region::Use use = region_->acquire();
  if (!use) {
    count(counters_.access_errors);
    return fail_get(CompletionStatus::remote_access_error);
  }
  auto header = encode(response(ResponseKind::data, length));
  auto completion = encode(response(ResponseKind::completion, 0));
  std::array<::iovec, 3> parts{};
  std::size_t used = 0;
  std::uint64_t skip = chunk_sent_;
  const auto add = [&](void* start, std::uint64_t size) {
    const std::uint64_t skipped = std::min(skip, size);
    skip -= skipped;
    if (skipped < size) {
      parts[used++] = {static_cast<char*>(start) + skipped,
                       static_cast<std::size_t>(size - skipped)};
    }
  };
  add(header.data(), header.size());
  add(for_kernel(request_.remote_address + moved_), length);
  if (last) {
    add(completion.data(), completion.size());
  }
  const std::uint64_t whole = header.size() + length + (last ? completion.size() : 0);
  ::msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = used;
  const ssize_t result = ::sendmsg(socket_, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (result < 0) {
    if (errno == EFAULT) {
      count(counters_.memory_faults);
      return fail_get(CompletionStatus::remote_operation_error);
    }
    return after_failed_call(errno, Step::writable);
  }
  chunk_sent_ += static_cast<std::uint64_t>(result);
  if (chunk_sent_ < whole) {
    // The socket is full, or the memory ends there: the next call tells.
    return Step::writable;
  }
  count(counters_.bytes_read, length);
  moved_ += length;
  chunk_sent_ = 0;
  if (last) {
    status_sent_ = completion.size();
    return Step::done;
  }
  return Step::next_turn;
}

// A chunk that was announced has to be filled up before the status can be told.
Step RequestServer::fail_get(CompletionStatus status) noexcept {
  status_ = status;
  padding_ = chunk_sent_ != 0;
  return padding_ ? Step::next_turn : Step::done;
}

// Fills up a chunk that cannot be had, so that the status behind it is found.
Step RequestServer::pad_chunk() {
  const auto header = encode(response(ResponseKind::data, chunk_length()));
  const std::uint64_t whole = header.size() + chunk_length();
  if (chunk_sent_ >= whole) {
    padding_ = false;
    return Step::done;
  }
  const bool in_header = chunk_sent_ < header.size();
  const std::byte* const start = in_header ? header.data() + chunk_sent_ : zeros.data();
  const std::uint64_t size = in_header ? header.size() - chunk_sent_
                                       : std::min<std::uint64_t>(whole - chunk_sent_, zeros.size());
  const ssize_t result = ::send(socket_, start, size, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (result < 0) {
    return after_failed_call(errno, Step::writable);
  }
  chunk_sent_ += static_cast<std::uint64_t>(result);
  return Step::next_turn;
}

Step RequestServer::send_status() {
  const bool grant = copied() && request_.opcode == Opcode::rdma_read && !failed();
  const auto frame =
      encode(grant ? response(ResponseKind::grant, region_->live_keys().rkey_address())
                   : response(ResponseKind::completion, answer_));
  if (status_sent_ == frame.size()) {
    return Step::done;
  }
  const ssize_t result = ::send(socket_, frame.data() + status_sent_, frame.size() - status_sent_,
                                MSG_DONTWAIT | MSG_NOSIGNAL);
  if (result < 0) {
    return after_failed_call(errno, Step::writable);
  }
  status_sent_ += static_cast<std::size_t>(result);
  return status_sent_ == frame.size() ? Step::done : Step::writable;
}

// One system call: throws away what the requester went on sending.
Step RequestServer::discard() {
  std::array<std::byte, 64U << 10U> bin{};
  const ssize_t result = ::recv(socket_, bin.data(), bin.size(), MSG_DONTWAIT);
  if (result < 0) {
    return after_failed_call(errno, Step::readable);
  }
  discarded_ += static_cast<std::uint64_t>(result);
  return result == 0 || discarded_ > drain_limit ? Step::lost : Step::next_turn;
}

}  // namespace danaus::transport::soft
