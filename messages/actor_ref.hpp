// Actor references: who a manager is and where it can be dialled.
// Any thread. Relies on error.hpp, fields.hpp.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <tuple>

#include "messages/error.hpp"
#include "messages/fields.hpp"

namespace danaus::messages {

/// The longest identity. With the suffix of a DEALER's routing id it stays below ZeroMQ's 255
/// bytes.
inline constexpr std::size_t max_identity_length = 200;

/// Identities match [A-Za-z0-9._-]{1,200}.
[[nodiscard]] bool is_valid_identity(std::string_view identity) noexcept;

/// `identity@endpoint`. An empty `at` makes a passive actor: it can ask, nobody dials it.
struct ActorRef {
  std::string id;
  std::string at;

  static constexpr auto fields() {
    return std::tuple{required("id", &ActorRef::id), defaulted("at", &ActorRef::at)};
  }
  friend bool operator==(const ActorRef&, const ActorRef&) = default;
};

/// Written as it is parsed: "identity@endpoint", or the bare identity of a passive actor.
[[nodiscard]] std::string to_string(const ActorRef& ref);

/// Splits at the first '@'. Errors: InvalidArgument for a bad identity or an endpoint that is
/// neither tcp://HOST:PORT nor ipc://PATH.
[[nodiscard]] std::expected<ActorRef, Error> parse_actor_ref(std::string_view text);

/// Checks identity and endpoint of a reference that came in parts. `at` may be empty.
[[nodiscard]] std::expected<void, Error> check_actor_ref(const ActorRef& ref);

/// A named buffer of an actor, written `identity@endpoint/buffer`; splits at the last '/'.
struct BufferRef {
  ActorRef owner;
  std::string buffer;
  friend bool operator==(const BufferRef&, const BufferRef&) = default;
};

[[nodiscard]] std::expected<BufferRef, Error> parse_buffer_ref(std::string_view text);

}  // namespace danaus::messages
