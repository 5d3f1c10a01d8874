#include "transport/types.hpp"

namespace danaus::transport {

std::string_view to_string(QueuePairState state) noexcept {
  switch (state) {
    case QueuePairState::reset:
      return "RESET";
    case QueuePairState::init:
      return "INIT";
    case QueuePairState::ready_to_receive:
      return "RTR";
    case QueuePairState::ready_to_send:
      return "RTS";
    case QueuePairState::send_queue_drained:
      return "SQD";
    case QueuePairState::send_queue_error:
      return "SQE";
    case QueuePairState::error:
      return "ERR";
  }
  return "unknown";
}

std::string_view to_string(CompletionStatus status) noexcept {
  switch (status) {
    case CompletionStatus::success:
      return "success";
    case CompletionStatus::local_length_error:
      return "local length error";
    case CompletionStatus::local_queue_pair_error:
      return "local queue pair operation error";
    case CompletionStatus::local_protection_error:
      return "local protection error";
    case CompletionStatus::work_request_flushed:
      return "work request flushed";
    case CompletionStatus::memory_window_error:
      return "memory window bind error";
    case CompletionStatus::bad_response:
      return "bad response";
    case CompletionStatus::local_access_error:
      return "local access error";
    case CompletionStatus::remote_invalid_request:
      return "remote invalid request";
    case CompletionStatus::remote_access_error:
      return "remote access error";
    case CompletionStatus::remote_operation_error:
      return "remote operation error";
    case CompletionStatus::retry_exceeded:
      return "transport retry counter exceeded";
    case CompletionStatus::rnr_retry_exceeded:
      return "receiver-not-ready retry counter exceeded";
    case CompletionStatus::fatal_error:
      return "fatal error";
    case CompletionStatus::general_error:
      return "general error";
  }
  return "unknown status";
}

ErrorCode to_error_code(CompletionStatus status) noexcept {
  switch (status) {
    case CompletionStatus::success:
      return ErrorCode::internal;
    case CompletionStatus::local_length_error:
      return ErrorCode::local_length_error;
    case CompletionStatus::local_queue_pair_error:
      return ErrorCode::local_queue_pair_error;
    case CompletionStatus::local_protection_error:
      return ErrorCode::local_protection_error;
    case CompletionStatus::work_request_flushed:
      return ErrorCode::work_request_flushed;
    case CompletionStatus::memory_window_error:
      return ErrorCode::memory_window_error;
    case CompletionStatus::bad_response:
      return ErrorCode::bad_response;
    case CompletionStatus::local_access_error:
      return ErrorCode::local_access_error;
    case CompletionStatus::remote_invalid_request:
      return ErrorCode::remote_invalid_request;
    case CompletionStatus::remote_access_error:
      return ErrorCode::remote_access_error;
    case CompletionStatus::remote_operation_error:
      return ErrorCode::remote_operation_error;
    case CompletionStatus::retry_exceeded:
      return ErrorCode::retry_exceeded;
    case CompletionStatus::rnr_retry_exceeded:
      return ErrorCode::rnr_retry_exceeded;
    case CompletionStatus::fatal_error:
      return ErrorCode::transport_fatal;
    case CompletionStatus::general_error:
      return ErrorCode::io_failed;
  }
  return ErrorCode::internal;
}

std::string_view hint(CompletionStatus status) noexcept {
  switch (status) {
    case CompletionStatus::success:
      return "nothing to do";
    case CompletionStatus::local_length_error:
      return "check that the length fits the local buffer and the longest message of the device";
    case CompletionStatus::local_queue_pair_error:
      return "this side of the queue pair is inconsistent; request the queue pair again";
    case CompletionStatus::local_protection_error:
      return "check that the local buffer is still registered and mapped, and that the range lies "
             "within it";
    case CompletionStatus::work_request_flushed:
      return "the queue pair had left RTS; request the queue pair again";
    case CompletionStatus::memory_window_error:
      return "check the memory window's region and access";
    case CompletionStatus::bad_response:
      return "the peer answered what this side does not understand; check that both run compatible "
             "versions";
    case CompletionStatus::local_access_error:
      return "check that the local buffer was registered with local write access";
    case CompletionStatus::remote_invalid_request:
      return "the peer refused the form of the request; check its length and that both sides run "
             "compatible versions";
    case CompletionStatus::remote_access_error:
      return "check that the remote buffer is still registered, that the range lies within it, and "
             "that it allows this access; ask its owner for a new handle";
    case CompletionStatus::remote_operation_error:
      return "the peer could not reach its own memory; look into the peer's log";
    case CompletionStatus::retry_exceeded:
      return "the peer does not answer; check that it is alive and that its data port can be "
             "reached";
    case CompletionStatus::rnr_retry_exceeded:
      return "the peer posted no receive in time; check that it is alive";
    case CompletionStatus::fatal_error:
      return "the device failed; restart the worker";
    case CompletionStatus::general_error:
      return "look into the log of this process and of the peer";
  }
  return "look into the log of this process and of the peer";
}

}  // namespace danaus::transport
