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
enum class Opcode : std::uint8_t { rdma_write = 0, rdma_read = 4 };

/// The longest work request, in bytes: 1 GiB. Longer operations are split (OperationQueue).
inline constexpr std::uint64_t max_work_request_length = std::uint64_t{1} << 30U;

/// One request to a queue pair. A length of 0 completes without touching memory, and its addresses
/// and keys are not looked at.
struct WorkRequest {
  std::uint64_t id = 0;
  Opcode opcode = Opcode::rdma_write;
  std::uint64_t local_address = 0;
  std::uint64_t lkey = 0;
  std::uint64_t remote_address = 0;
  std::uint64_t rkey = 0;
  /// In bytes, at most `max_work_request_length`.
  std::uint64_t length = 0;
};

/// How a work request ended.
struct WorkCompletion {
  std::uint64_t id = 0;
  CompletionStatus status = CompletionStatus::success;
};

}  // namespace danaus::transport
