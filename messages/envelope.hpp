// The envelope: the header that travels before each body, and what a reply's body holds.
// Any thread. Relies on codec.hpp for its encoding.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "messages/actor_ref.hpp"
#include "messages/bytes.hpp"
#include "messages/error.hpp"
#include "messages/fields.hpp"

namespace danaus::messages {

/// The version of this protocol. A message that version 1 once accepted stays accepted.
inline constexpr std::uint32_t protocol_version = 1;

/// What a message is for. A cast wants no reply.
enum class Kind : std::uint8_t { request, reply, cast };

[[nodiscard]] std::string_view to_string(Kind kind) noexcept;
[[nodiscard]] std::optional<Kind> kind_from_string(std::string_view name) noexcept;

/// Whom a message is for; with an incarnation, for that life of it alone.
struct Addressee {
  std::string id;
  std::optional<Incarnation> incarnation;

  static constexpr auto fields() {
    return std::tuple{required("id", &Addressee::id),
                      defaulted("incarnation", &Addressee::incarnation)};
  }
  friend bool operator==(const Addressee&, const Addressee&) = default;
};

/// Who sent a message. `at` is informative: it is never dialled.
struct Sender {
  std::string id;
  std::string at;
  std::optional<Incarnation> incarnation;

  static constexpr auto fields() {
    return std::tuple{required("id", &Sender::id), defaulted("at", &Sender::at),
                      defaulted("incarnation", &Sender::incarnation)};
  }
  friend bool operator==(const Sender&, const Sender&) = default;
};

struct Header {
  std::uint32_t version = protocol_version;
  Kind kind = Kind::request;
  /// Correlates a reply with its request; chosen by the requester.
  std::uint64_t id = 0;
  Addressee to;
  Sender from;
  /// How long the requester will wait; the server's own default where absent.
  std::optional<std::uint32_t> timeout_ms;

  static constexpr auto fields() {
    return std::tuple{
        required("version", &Header::version), required("kind", &Header::kind),
        required("id", &Header::id),           required("to", &Header::to),
        required("from", &Header::from),       defaulted("timeout_ms", &Header::timeout_ms)};
  }
  friend bool operator==(const Header&, const Header&) = default;
};

/// What a reply says: `Ok` with the encoded value, or the error.
using ReplyBody = std::expected<Bytes, Error>;

/// What could be made out of a header that was refused: enough to answer, where it had an id.
struct RefusedHeader {
  Error error;
  std::optional<std::uint64_t> id;
  std::optional<Kind> kind;
  /// The sender's identity as claimed, valid or not.
  std::string from;
};

[[nodiscard]] Bytes encode_header(const Header& header);
[[nodiscard]] std::expected<Header, RefusedHeader> decode_header(std::span<const std::byte> bytes);

/// A value that no peer would accept (see codec.hpp for the limits) becomes a ResourceExhausted
/// error; the text of an error is cut after 16 KiB.
[[nodiscard]] Bytes encode_reply(const ReplyBody& reply);
/// Errors: Malformed. An `Err` reply with a code unknown to this version is `Internal`, with the
/// name in its details under "code".
[[nodiscard]] std::expected<ReplyBody, Error> decode_reply(std::span<const std::byte> bytes);

}  // namespace danaus::messages
