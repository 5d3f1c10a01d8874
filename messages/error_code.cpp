#include "messages/error_code.hpp"

#include <array>
#include <utility>

namespace danaus {
namespace {

constexpr auto names = std::to_array<std::pair<ErrorCode, std::string_view>>({
    {ErrorCode::invalid_argument, "InvalidArgument"},
    {ErrorCode::malformed, "Malformed"},
    {ErrorCode::unsupported_version, "UnsupportedVersion"},
    {ErrorCode::unknown_message, "UnknownMessage"},
    {ErrorCode::size_mismatch, "SizeMismatch"},
    {ErrorCode::out_of_range, "OutOfRange"},
    {ErrorCode::wrong_addressee, "WrongAddressee"},
    {ErrorCode::stale_peer, "StalePeer"},
    {ErrorCode::permission_denied, "PermissionDenied"},
    {ErrorCode::auth_failed, "AuthFailed"},
    {ErrorCode::busy, "Busy"},
    {ErrorCode::timeout, "Timeout"},
    {ErrorCode::shutting_down, "ShuttingDown"},
    {ErrorCode::unreachable, "Unreachable"},
    {ErrorCode::peer_lost, "PeerLost"},
    {ErrorCode::not_found, "NotFound"},
    {ErrorCode::resource_exhausted, "ResourceExhausted"},
    {ErrorCode::io_failed, "IoFailed"},
    {ErrorCode::unsupported, "Unsupported"},
    {ErrorCode::unknown_device, "UnknownDevice"},
    {ErrorCode::device_unusable, "DeviceUnusable"},
    {ErrorCode::transport_mismatch, "TransportMismatch"},
    {ErrorCode::registration_failed, "RegistrationFailed"},
    {ErrorCode::invalid_queue_pair_state, "InvalidQueuePairState"},
    {ErrorCode::connect_conflict, "ConnectConflict"},
    {ErrorCode::superseded, "Superseded"},
    {ErrorCode::queue_pair_reset, "QueuePairReset"},
    {ErrorCode::local_length_error, "LocalLengthError"},
    {ErrorCode::local_queue_pair_error, "LocalQueuePairError"},
    {ErrorCode::local_protection_error, "LocalProtectionError"},
    {ErrorCode::work_request_flushed, "WorkRequestFlushed"},
    {ErrorCode::memory_window_error, "MemoryWindowError"},
    {ErrorCode::bad_response, "BadResponse"},
    {ErrorCode::local_access_error, "LocalAccessError"},
    {ErrorCode::remote_invalid_request, "RemoteInvalidRequest"},
    {ErrorCode::remote_access_error, "RemoteAccessError"},
    {ErrorCode::remote_operation_error, "RemoteOperationError"},
    {ErrorCode::retry_exceeded, "RetryExceeded"},
    {ErrorCode::rnr_retry_exceeded, "RnrRetryExceeded"},
    {ErrorCode::transport_fatal, "TransportFatal"},
    {ErrorCode::internal, "Internal"},
});

constexpr auto codes = [] {
  std::array<ErrorCode, names.size()> all{};
  for (std::size_t i = 0; i < names.size(); ++i) {
    all[i] = names[i].first;
  }
  return all;
}();

constexpr bool listed_in_declaration_order() {
  for (std::size_t i = 0; i < codes.size(); ++i) {
    if (static_cast<std::size_t>(codes[i]) != i) {
      return false;
    }
  }
  return codes.back() == ErrorCode::internal;
}
static_assert(listed_in_declaration_order(), "every code has its name, at its own index");

}  // namespace

std::span<const ErrorCode> all_error_codes() noexcept {
  return codes;
}

std::string_view to_string(ErrorCode code) noexcept {
  return names[static_cast<std::size_t>(code)].second;
}

std::optional<ErrorCode> error_code_from_string(std::string_view name) noexcept {
  for (const auto& [code, text] : names) {
    if (text == name) {
      return code;
    }
  }
  return std::nullopt;
}

}  // namespace danaus
