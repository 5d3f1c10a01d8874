// How failed operations are worded: what was tried, with whom, why it failed, what to do.
// Any thread. Relies on operation_queue.hpp for the Operation.
#pragma once

#include <expected>
#include <string_view>

#include "messages/error.hpp"
#include "transport/operation_queue.hpp"
#include "transport/types.hpp"

namespace danaus::transport {

/// Errors: InvalidArgument, when the local or the remote range wraps past 2^64, or for an atomic of
/// a wrong form.
[[nodiscard]] std::expected<void, Error> check_ranges(const Operation& operation,
                                                      std::string_view peer);

/// A work request of it completed with `status`, a real error.
[[nodiscard]] Error failed_error(const Operation& operation, std::string_view peer,
                                 CompletionStatus status);

/// Timeout: its deadline passed.
[[nodiscard]] Error timeout_error(const Operation& operation, std::string_view peer);

/// QueuePairReset: it fell with the queue pair, which broke for `cause`.
[[nodiscard]] Error reset_error(const Operation& operation, std::string_view peer,
                                const Error& cause);

/// InvalidQueuePairState: it was not begun, as the queue pair had broken for `cause`.
[[nodiscard]] Error refused_error(const Operation& operation, std::string_view peer,
                                  const Error& cause);

/// InvalidArgument: there is nowhere for results of atomics.
[[nodiscard]] Error no_atomics_error(std::string_view peer);

/// NotFound: no such submitted operation, or its result was taken already.
[[nodiscard]] Error unknown_operation_error(OperationId id, std::string_view peer);

/// Why work requests are flushed when nothing on this side has failed.
[[nodiscard]] Error left_rts_error(std::string_view peer);

}  // namespace danaus::transport
