// Requester: copies within one host.
#include <algorithm>
#include <cerrno>

#include "transport/soft/mapping_check.hpp"
#include "transport/soft/requester.hpp"

namespace danaus::transport::soft {

// One system call: a turn's worth of what was granted, from the peer's memory into ours.
Requester::Flow Requester::copy_payload(std::uint64_t& budget) {
  Outstanding& current = outstanding_.front();
  const WorkRequest& request = current.request;
  const std::uint64_t wanted = std::min(request.length - current.received, budget);
  if (wanted == 0) {
    return Flow::stopped;
  }
  if (!current.asked && current.received == 0 &&
      connection_.peer()->is_gone(connection_.socket())) {
    connection_lost();
    return Flow::stopped;
  }
  const Region::Use use = current.region->acquire();
  if (!use) {
    fail(CompletionStatus::local_protection_error);
    return Flow::stopped;
  }
  const std::uint64_t local = request.local_address + current.received;
  const auto result = connection_.peer()->copy(local, request.remote_address + current.received,
                                               wanted, current.grant);
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
  if (result->witness.key != request.rkey) {
    // Released meanwhile, or all of it ended: what was copied may be anything.
    if (connection_.peer()->is_gone(connection_.socket())) {
      connection_lost();
    } else {
      fail(CompletionStatus::remote_access_error);
    }
    return Flow::stopped;
  }
  if (current.received < request.length) {
    return Flow::moved;
  }
  known_grants_.remember(result->witness, current.grant);
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

}  // namespace danaus::transport::soft
