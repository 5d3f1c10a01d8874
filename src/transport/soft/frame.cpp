#include "transport/soft/frame.hpp"

#include <algorithm>
#include <limits>
#include <type_traits>

namespace danaus::transport::soft {
namespace {

// Copies first and looks then: no object is read whose enumerators have not been checked but
// through its underlying type, which every bit pattern fits.
template <class Frame>
Frame read_as(std::span<const std::byte, sizeof(Frame)> bytes) noexcept {
  static_assert(std::is_trivially_copyable_v<Frame>);
  std::array<std::byte, sizeof(Frame)> copy{};
  std::ranges::copy(bytes, copy.begin());
  return std::bit_cast<Frame>(copy);
}

bool is_queue_pair_number(std::uint32_t number) noexcept {
  return number != 0 && number <= max_queue_pair_number;
}

bool is_opcode(Opcode opcode) noexcept {
  switch (opcode) {
    case Opcode::rdma_write:
    case Opcode::rdma_write_with_immediate:
    case Opcode::rdma_read:
    case Opcode::atomic_compare_and_swap:
    case Opcode::atomic_fetch_and_add:
      return true;
  }
  return false;
}

// Whether it says what its opcode needs and no more. The form of an atomic is checked here too, as
// real devices refuse a wrong one with the same status.
bool fits_opcode(const RequestHeader& request) noexcept {
  const bool copied = request.flags == by_copy;
  auto used = decltype(request.operands){};
  bool fits = copied ? request.length != 0 : request.flags == 0;
  switch (request.opcode) {
    case Opcode::rdma_read:
      break;
    case Opcode::rdma_write_with_immediate:
      used[1] = request.operands[1];
      fits = fits && used[1] <= std::numeric_limits<std::uint32_t>::max();
      [[fallthrough]];
    case Opcode::rdma_write:
      if (copied) {
        used[0] = request.operands[0];
        used[2] = request.operands[2];
        used[3] = request.operands[3];
        fits = fits && used[2] != 0 && used[3] != 0;
      }
      break;
    case Opcode::atomic_compare_and_swap:
      used[1] = request.operands[1];
      [[fallthrough]];
    case Opcode::atomic_fetch_and_add:
      used[0] = request.operands[0];
      fits = fits && !copied && request.length == atomic_length &&
             is_aligned_for_atomics(request.remote_address);
      break;
  }
  return fits && request.operands == used;
}

bool is_responder_status(std::uint8_t status) noexcept {
  switch (static_cast<CompletionStatus>(status)) {
    case CompletionStatus::success:
    case CompletionStatus::remote_invalid_request:
    case CompletionStatus::remote_access_error:
    case CompletionStatus::remote_operation_error:
    // Of a put by copy: the responder met it, in the requester's memory.
    case CompletionStatus::local_protection_error:
      return true;
    case CompletionStatus::local_length_error:
    case CompletionStatus::local_queue_pair_error:
    case CompletionStatus::work_request_flushed:
    case CompletionStatus::memory_window_error:
    case CompletionStatus::bad_response:
    case CompletionStatus::local_access_error:
    case CompletionStatus::retry_exceeded:
    case CompletionStatus::rnr_retry_exceeded:
    case CompletionStatus::fatal_error:
    case CompletionStatus::general_error:
      return false;
  }
  return false;
}

}  // namespace

std::optional<Hello> decode_hello(std::span<const std::byte, sizeof(Hello)> bytes) noexcept {
  const auto hello = read_as<Hello>(bytes);
  if (hello.magic != hello_magic || hello.version != data_protocol_version || hello.reserved != 0 ||
      hello.reserved_too != 0 || !is_queue_pair_number(hello.destination_queue_pair) ||
      !is_queue_pair_number(hello.source_queue_pair)) {
    return std::nullopt;
  }
  return hello;
}

std::optional<Probe> decode_probe(std::span<const std::byte, sizeof(Probe)> bytes) noexcept {
  const auto probe = read_as<Probe>(bytes);
  if (probe.magic != probe_magic || probe.version != data_protocol_version || probe.reserved != 0) {
    return std::nullopt;
  }
  return probe;
}

std::optional<RequestHeader> decode_request(
    std::span<const std::byte, sizeof(RequestHeader)> bytes) noexcept {
  const auto request = read_as<RequestHeader>(bytes);
  if (!is_opcode(request.opcode) || request.reserved != 0 || !fits_opcode(request) ||
      request.length > max_work_request_length) {
    return std::nullopt;
  }
  return request;
}

std::optional<Response> decode_response(
    std::span<const std::byte, sizeof(Response)> bytes) noexcept {
  const auto response = read_as<Response>(bytes);
  if (response.reserved != 0) {
    return std::nullopt;
  }
  switch (response.kind) {
    case ResponseKind::completion:
      if (!is_responder_status(response.status) || (response.length != 0 && response.status != 0)) {
        return std::nullopt;
      }
      return response;
    case ResponseKind::data:
      if (response.length == 0 || response.length > max_chunk_length || response.status != 0) {
        return std::nullopt;
      }
      return response;
    case ResponseKind::grant:
      if (response.length == 0 || response.status != 0) {
        return std::nullopt;
      }
      return response;
  }
  return std::nullopt;
}

}  // namespace danaus::transport::soft
