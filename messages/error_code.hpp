// The error codes of the wire and of the API: one list, one name each.
// Any thread. Relies on nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace danaus {

/// Why something failed. The name (see `to_string`) is what travels in an `Err` reply; a code, once
/// published, keeps its name and meaning.
enum class ErrorCode : std::uint8_t {
  // The request itself.
  invalid_argument,
  malformed,
  unsupported_version,
  unknown_message,
  size_mismatch,
  out_of_range,
  // Who asked whom.
  wrong_addressee,
  stale_peer,
  permission_denied,
  auth_failed,
  // Whether it could be carried out now.
  busy,
  timeout,
  shutting_down,
  unreachable,
  peer_lost,
  not_found,
  resource_exhausted,
  io_failed,
  unsupported,
  // Devices and memory.
  unknown_device,
  device_unusable,
  transport_mismatch,
  registration_failed,
  // Queue pairs.
  invalid_queue_pair_state,
  connect_conflict,
  superseded,
  queue_pair_reset,
  // Work completions: one for each status that ibv_poll_cq(3) can report for an RC queue pair.
  local_length_error,
  local_queue_pair_error,
  local_protection_error,
  work_request_flushed,
  memory_window_error,
  bad_response,
  local_access_error,
  remote_invalid_request,
  remote_access_error,
  remote_operation_error,
  retry_exceeded,
  rnr_retry_exceeded,
  transport_fatal,
  // A fault of Danaus itself.
  internal,
};

/// Every code, in declaration order.
[[nodiscard]] std::span<const ErrorCode> all_error_codes() noexcept;

/// The code's name on the wire, e.g. "StalePeer".
[[nodiscard]] std::string_view to_string(ErrorCode code) noexcept;

/// The inverse of `to_string`; nothing for a name that this version does not know.
[[nodiscard]] std::optional<ErrorCode> error_code_from_string(std::string_view name) noexcept;

}  // namespace danaus
