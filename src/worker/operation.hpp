// What a put or a get becomes: checked, with keys and addresses, ready for the queue pair.
// Pure; any thread.
#pragma once

#include <cstdint>
#include <expected>
#include <span>
#include <string_view>

#include "messages/error.hpp"
#include "messages/values.hpp"
#include "transport/operation_queue.hpp"
#include "worker/local_buffer.hpp"

namespace danaus::worker {

/// What an atomic does to 8 bytes of a buffer.
struct AtomicRequest {
  transport::Opcode opcode = transport::Opcode::atomic_fetch_and_add;
  /// Into the buffer, in bytes.
  std::uint64_t offset = 0;
  std::uint64_t compare_add = 0;
  std::uint64_t swap = 0;
};

[[nodiscard]] constexpr AtomicRequest fetch_add_request(std::uint64_t offset,
                                                        std::uint64_t value) noexcept {
  return {transport::Opcode::atomic_fetch_and_add, offset, value, 0};
}

[[nodiscard]] constexpr AtomicRequest compare_swap_request(std::uint64_t offset,
                                                           std::uint64_t expected,
                                                           std::uint64_t desired) noexcept {
  return {transport::Opcode::atomic_compare_and_swap, offset, expected, desired};
}

/// How many bytes move: all of the source. Errors: SizeMismatch where the destination is smaller.
[[nodiscard]] std::expected<std::uint64_t, Error> bytes_to_move(transport::Opcode opcode,
                                                                std::uint64_t local_size,
                                                                std::uint64_t remote_size);

/// A put or get between a slice and a buffer over a queue pair: `self_device` is ours,
/// `other_device` the peer's. Errors: SizeMismatch, TransportMismatch (the buffer is not registered
/// with the device).
[[nodiscard]] std::expected<transport::Operation, Error> make_operation(
    transport::Opcode opcode, std::span<const std::byte> memory, const BufferKeys& keys,
    std::string_view self_device, const messages::RdmaBuffer& remote,
    std::string_view other_device);

/// An atomic on a buffer. Errors: OutOfRange, TransportMismatch. That its address is aligned is
/// for the queue pair to check.
[[nodiscard]] std::expected<transport::Operation, Error> make_atomic(
    const AtomicRequest& request, const messages::RdmaBuffer& remote,
    std::string_view other_device);

}  // namespace danaus::worker
