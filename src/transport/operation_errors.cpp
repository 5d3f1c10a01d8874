#include "transport/operation_errors.hpp"

#include <spdlog/fmt/fmt.h>

#include <string>

#include "memory/address_range.hpp"

namespace danaus::transport {
namespace {

std::string describe(const Operation& operation, std::string_view peer) {
  if (operation.receive) {
    return fmt::format("receive from {}", peer);
  }
  switch (operation.opcode) {
    case Opcode::rdma_write:
      return fmt::format("put of {} bytes to {}", operation.length, peer);
    case Opcode::rdma_write_with_immediate:
      return fmt::format("put with immediate of {} bytes to {}", operation.length, peer);
    case Opcode::rdma_read:
      return fmt::format("get of {} bytes from {}", operation.length, peer);
    case Opcode::atomic_compare_and_swap:
      return fmt::format("compare-swap of 8 bytes at {}", peer);
    case Opcode::atomic_fetch_and_add:
      return fmt::format("fetch-add of 8 bytes at {}", peer);
  }
  return fmt::format("operation of {} bytes with {}", operation.length, peer);
}

Error::Details details_of(const Operation& operation, std::string_view peer) {
  return {{"peer", std::string{peer}}, {"length", std::to_string(operation.length)}};
}

}  // namespace

std::expected<void, Error> check_ranges(const Operation& operation, std::string_view peer) {
  const bool atomic = is_atomic(operation.opcode);
  if (atomic &&
      (operation.length != atomic_length || !is_aligned_for_atomics(operation.remote_address))) {
    return std::unexpected{
        Error{ErrorCode::invalid_argument,
              fmt::format("{}: {} bytes at {:#x}; atomics take 8 bytes at a multiple of 8",
                          describe(operation, peer), operation.length, operation.remote_address)}};
  }
  if (operation.length == 0) {
    return {};
  }
  const auto check = [&](std::uint64_t address,
                         std::string_view side) -> std::expected<void, Error> {
    if (auto range = memory::AddressRange::make(address, operation.length); !range) {
      return std::unexpected{
          Error{range.error().code(), fmt::format("{}, {} side: {}", describe(operation, peer),
                                                  side, range.error().message())}};
    }
    return {};
  };
  if (atomic) {
    return check(operation.remote_address, "remote");
  }
  if (auto checked = check(operation.local_address, "local"); !checked) {
    return checked;
  }
  return check(operation.remote_address, "remote");
}

Error failed_error(const Operation& operation, std::string_view peer, CompletionStatus status) {
  auto details = details_of(operation, peer);
  details.emplace("status", std::to_string(static_cast<std::uint32_t>(status)));
  return {to_error_code(status),
          fmt::format("{} failed: {} (status {}); {}", describe(operation, peer), to_string(status),
                      static_cast<std::uint32_t>(status), hint(status)),
          std::move(details)};
}

Error timeout_error(const Operation& operation, std::string_view peer) {
  if (operation.receive) {
    return {ErrorCode::timeout,
            fmt::format("{}: no put with immediate arrived by the deadline; the queue pair goes "
                        "on, receive again",
                        describe(operation, peer)),
            details_of(operation, peer)};
  }
  return {ErrorCode::timeout,
          fmt::format("{} was not over by its deadline; its queue pair was moved to ERR and "
                      "drained, so nothing touches its memory any more; request the queue pair "
                      "again, with more time if the peer is only slow",
                      describe(operation, peer)),
          details_of(operation, peer)};
}

Error reset_error(const Operation& operation, std::string_view peer, const Error& cause) {
  auto details = details_of(operation, peer);
  details.emplace("cause", std::string{to_string(cause.code())});
  return {ErrorCode::queue_pair_reset,
          fmt::format("{} was cut off, as its queue pair went to ERR: {}; request the queue pair "
                      "again and repeat the operation",
                      describe(operation, peer), cause.message()),
          std::move(details)};
}

Error refused_error(const Operation& operation, std::string_view peer, const Error& cause) {
  auto details = details_of(operation, peer);
  details.emplace("cause", std::string{to_string(cause.code())});
  return {ErrorCode::invalid_queue_pair_state,
          fmt::format("{} was not begun, as its queue pair is in ERR: {}; request the queue pair "
                      "again",
                      describe(operation, peer), cause.message()),
          std::move(details)};
}

Error no_atomics_error(std::string_view peer) {
  return {ErrorCode::invalid_argument,
          fmt::format("the queue pair to {} was made without room for results of atomics; use one "
                      "of a Worker's",
                      peer)};
}

Error unknown_operation_error(OperationId id, std::string_view peer) {
  return {
      ErrorCode::not_found,
      fmt::format("no operation {} was submitted on the queue pair to {}, or its result has been "
                  "taken already; take each result once",
                  id, peer)};
}

Error left_rts_error(std::string_view peer) {
  return {ErrorCode::peer_lost,
          fmt::format("the queue pair to {} left RTS without an error of this side's: the peer has "
                      "closed it or is gone",
                      peer)};
}

}  // namespace danaus::transport
