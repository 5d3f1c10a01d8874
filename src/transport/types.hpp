// The vocabulary of queue pairs: states, opcodes, statuses, work requests and their completions.
// Numbered as in libibverbs' verbs.h, so that what is logged and what travels means the same on
// every transport. Any thread; plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "messages/error_code.hpp"

namespace danaus::transport {

/// Numbered as ibv_qp_state (ibv_query_qp(3)).
enum class QueuePairState : std::uint32_t {
  reset = 0,
  init = 1,
  ready_to_receive = 2,
  ready_to_send = 3,
  send_queue_drained = 4,
  send_queue_error = 5,
  error = 6,
};

/// "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR".
[[nodiscard]] std::string_view to_string(QueuePairState state) noexcept;

/// Numbered as ibv_wc_status (ibv_poll_cq(3)); those that an RC queue pair can report.
enum class CompletionStatus : std::uint32_t {
  success = 0,
  local_length_error = 1,
  local_queue_pair_error = 2,
  local_protection_error = 4,
  work_request_flushed = 5,
  memory_window_error = 6,
  bad_response = 7,
  local_access_error = 8,
  remote_invalid_request = 9,
  remote_access_error = 10,
  remote_operation_error = 11,
  retry_exceeded = 12,
  rnr_retry_exceeded = 13,
  fatal_error = 19,
  general_error = 21,
};

[[nodiscard]] std::string_view to_string(CompletionStatus status) noexcept;

/// The error code of a failed status; distinct for each. `success` has none (Internal).
[[nodiscard]] ErrorCode to_error_code(CompletionStatus status) noexcept;

/// What to do about a failed status, for people.
[[nodiscard]] std::string_view hint(CompletionStatus status) noexcept;

/// What peers may do to a memory region, as bits of ibv_access_flags (ibv_reg_mr(3)).
enum class AccessFlags : std::uint32_t {
  local_write = 1U << 0U,
  remote_write = 1U << 1U,
  remote_read = 1U << 2U,
  remote_atomic = 1U << 3U,
};

[[nodiscard]] constexpr AccessFlags operator|(AccessFlags left, AccessFlags right) noexcept {
  return static_cast<AccessFlags>(static_cast<std::uint32_t>(left) |
                                  static_cast<std::uint32_t>(right));
}

[[nodiscard]] constexpr bool has(AccessFlags set, AccessFlags flag) noexcept {
  return (static_cast<std::uint32_t>(set) & static_cast<std::uint32_t>(flag)) != 0;
}

/// What a manager registers with unless told otherwise.
inline constexpr AccessFlags full_access = AccessFlags::local_write | AccessFlags::remote_write |
                                           AccessFlags::remote_read | AccessFlags::remote_atomic;

/// Numbered as ibv_wr_opcode (ibv_post_send(3)).
enum class Opcode : std::uint8_t {
  rdma_write = 0,
  rdma_write_with_immediate = 1,
  rdma_read = 4,
  atomic_compare_and_swap = 5,
  atomic_fetch_and_add = 6,
};

/// Whether it carries local bytes to the peer.
[[nodiscard]] constexpr bool is_write(Opcode opcode) noexcept {
  return opcode == Opcode::rdma_write || opcode == Opcode::rdma_write_with_immediate;
}

[[nodiscard]] constexpr bool is_atomic(Opcode opcode) noexcept {
  return opcode == Opcode::atomic_compare_and_swap || opcode == Opcode::atomic_fetch_and_add;
}

/// What the peer's region must allow.
[[nodiscard]] constexpr AccessFlags remote_access_for(Opcode opcode) noexcept {
  if (is_write(opcode)) {
    return AccessFlags::remote_write;
  }
  return is_atomic(opcode) ? AccessFlags::remote_atomic : AccessFlags::remote_read;
}

/// The longest work request, in bytes: 1 GiB. Longer operations are split (OperationQueue).
inline constexpr std::uint64_t max_work_request_length = std::uint64_t{1} << 30U;

/// What an atomic reads and writes, in bytes; its remote address is a multiple of it.
inline constexpr std::uint64_t atomic_length = 8;

[[nodiscard]] constexpr bool is_aligned_for_atomics(std::uint64_t address) noexcept {
  return address % atomic_length == 0;
}

/// One request to a queue pair. A length of 0 completes without touching memory, and its addresses
/// and keys are not looked at.
struct WorkRequest {
  std::uint64_t id = 0;
  Opcode opcode = Opcode::rdma_write;
  /// Of an atomic: where the peer's value before it is written, in the byte order of this machine.
  std::uint64_t local_address = 0;
  std::uint64_t lkey = 0;
  std::uint64_t remote_address = 0;
  std::uint64_t rkey = 0;
  /// In bytes, at most `max_work_request_length`; `atomic_length` of an atomic.
  std::uint64_t length = 0;
  /// As wr.atomic in ibv_send_wr: what to add, or what to compare with; and what then takes its
  /// place.
  std::uint64_t compare_add = 0;
  std::uint64_t swap = 0;
  /// Of a write with immediate; the peer's completion carries it.
  std::uint32_t immediate = 0;
};

/// Numbered as ibv_wc_opcode (ibv_poll_cq(3)).
enum class CompletionOpcode : std::uint8_t {
  rdma_write = 1,
  rdma_read = 2,
  compare_and_swap = 3,
  fetch_and_add = 4,
  receive_with_immediate = 129,
};

[[nodiscard]] constexpr CompletionOpcode completion_opcode(Opcode opcode) noexcept {
  switch (opcode) {
    case Opcode::rdma_write:
    case Opcode::rdma_write_with_immediate:
      return CompletionOpcode::rdma_write;
    case Opcode::rdma_read:
      return CompletionOpcode::rdma_read;
    case Opcode::atomic_compare_and_swap:
      return CompletionOpcode::compare_and_swap;
    case Opcode::atomic_fetch_and_add:
      return CompletionOpcode::fetch_and_add;
  }
  return CompletionOpcode::rdma_write;
}

/// How a work request or a receive ended. What follows the status means something on success alone,
/// as in ibv_poll_cq(3): give receives ids of their own.
struct WorkCompletion {
  std::uint64_t id = 0;
  CompletionStatus status = CompletionStatus::success;
  CompletionOpcode opcode = CompletionOpcode::rdma_write;
  /// Of a receive.
  std::uint32_t immediate = 0;
  /// In bytes; of a receive, those that were written before it.
  std::uint64_t byte_length = 0;
};

}  // namespace danaus::transport
