// The frames of a data connection: a hello, then requests one way and responses the other, in
// order.
//
//   requester → responder   Hello, then for each work request: RequestHeader [+ payload of a put]
//   responder → requester   for a put or an atomic: Response{completion}
//                           for a get: any number of Response{data} + payload, then
//                                      Response{completion}
//
// Within one host (AF_UNIX) each side first sees whether it may read the other's memory, and a
// requester that finds it may not goes away again:
//
//   requester → responder   Probe, and once it has the other's: Hello and so on
//   responder → requester   Probe
//
// From then on whoever owns the memory that is written may copy by itself (`by_copy`), and no
// payload travels:
//
//   for a put by copy: Response{completion}, once the responder has copied
//   for a get by copy: Response{grant}, whereupon the requester copies; or Response{completion}
//                      with an error
//
// Fixed binary layouts, little-endian. Whatever comes off a socket is hostile: `decode_*` checks
// everything that can be checked without state. Any thread; plain functions.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "messages/bytes.hpp"
#include "transport/types.hpp"

namespace danaus::transport::soft {

// The structs below are what travels; a big-endian port would have to swap in encode and decode.
static_assert(std::endian::native == std::endian::little);

/// "DANAUSD1", read as a little-endian number.
inline constexpr std::uint64_t hello_magic = 0x31445355414E4144;
/// "DANAUSP1", likewise.
inline constexpr std::uint64_t probe_magic = 0x31505355414E4144;
inline constexpr std::uint16_t data_protocol_version = 2;

/// Queue pair numbers have 24 bits (InfiniBand Architecture Specification, volume 1, BTH).
inline constexpr std::uint32_t max_queue_pair_number = 0xFFFFFF;

/// The most payload behind one Response{data}. Long enough that headers cost nothing, short enough
/// that padding out a chunk after a fault is cheap.
inline constexpr std::uint64_t max_chunk_length = std::uint64_t{1} << 20U;

/// First on every connection.
struct Hello {
  std::uint64_t magic = hello_magic;
  std::uint16_t version = data_protocol_version;
  std::uint16_t reserved = 0;
  std::uint32_t destination_queue_pair = 0;
  std::uint32_t source_queue_pair = 0;
  std::uint32_t reserved_too = 0;
  /// SoftEndpoint.token of the destination.
  messages::FixedBytes<16> token{};
};
static_assert(sizeof(Hello) == 40 && offsetof(Hello, token) == 24);

/// First on every connection within one host, either way.
struct Probe {
  std::uint64_t magic = probe_magic;
  /// Where the sender keeps `nonce`, which is random: whoever reads it there has found the right
  /// process, and may read its memory.
  std::uint64_t nonce_address = 0;
  std::uint64_t nonce = 0;
  /// errno of the sender's own attempt at the other's nonce; 0: it read it, or has not tried yet.
  std::uint32_t failure = 0;
  std::uint16_t version = data_protocol_version;
  std::uint16_t reserved = 0;
};
static_assert(sizeof(Probe) == 32 && offsetof(Probe, failure) == 24);

/// Of RequestHeader::flags: the bytes are copied by the side whose memory is written.
inline constexpr std::uint8_t by_copy = 1;

struct RequestHeader {
  /// Counts up from 0 by one with each request of a connection.
  std::uint32_t sequence = 0;
  Opcode opcode = Opcode::rdma_write;
  /// 0 or `by_copy`, which goes with puts and gets within one host.
  std::uint8_t flags = 0;
  std::uint16_t reserved = 0;
  /// At most max_work_request_length; 0 touches no memory, and key and address are not looked at.
  std::uint64_t length = 0;
  std::uint64_t remote_address = 0;
  std::uint64_t rkey = 0;
  /// What else the opcode needs; 0 where it needs nothing. Atomics: compare_add, swap. A write with
  /// immediate: the second is the immediate. A write by copy: the first is the address of its
  /// source, the third the address where the source's lkey stands (LiveKeys), the fourth that lkey.
  std::array<std::uint64_t, 4> operands{};
};
static_assert(sizeof(RequestHeader) == 64 && offsetof(RequestHeader, length) == 8);

enum class ResponseKind : std::uint8_t {
  /// The request is over; `status` says how. `length` is 0, or of an atomic that succeeded the
  /// value before it.
  completion = 1,
  /// `length` bytes of a get follow.
  data = 2,
  /// The bytes of a get by copy may be copied; `length` is the address where the region's rkey
  /// stands (LiveKeys): it must still be found there after the last byte.
  grant = 3,
};

struct Response {
  /// Of the request that it answers.
  std::uint32_t sequence = 0;
  ResponseKind kind = ResponseKind::completion;
  /// A CompletionStatus that a responder may give; success with data.
  std::uint8_t status = 0;
  std::uint16_t reserved = 0;
  std::uint64_t length = 0;
};
static_assert(sizeof(Response) == 16 && offsetof(Response, length) == 8);

/// The bytes of a frame, to be sent.
template <class Frame>
[[nodiscard]] constexpr std::array<std::byte, sizeof(Frame)> encode(const Frame& frame) noexcept {
  static_assert(std::has_unique_object_representations_v<Frame>, "no padding travels");
  return std::bit_cast<std::array<std::byte, sizeof(Frame)>>(frame);
}

/// Nothing when the bytes are not a hello of this version.
[[nodiscard]] std::optional<Hello> decode_hello(
    std::span<const std::byte, sizeof(Hello)> bytes) noexcept;

/// Nothing when the bytes are not a probe of this version.
[[nodiscard]] std::optional<Probe> decode_probe(
    std::span<const std::byte, sizeof(Probe)> bytes) noexcept;

/// Nothing when the bytes are not a request that a well-behaved requester sends.
[[nodiscard]] std::optional<RequestHeader> decode_request(
    std::span<const std::byte, sizeof(RequestHeader)> bytes) noexcept;

/// Nothing when the bytes are not a response that a well-behaved responder sends.
[[nodiscard]] std::optional<Response> decode_response(
    std::span<const std::byte, sizeof(Response)> bytes) noexcept;

}  // namespace danaus::transport::soft
