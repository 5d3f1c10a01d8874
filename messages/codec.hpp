// MessagePack encoding and bounded decoding of everything in messages/.
// Any thread. What comes off the wire is hostile until it has passed here: size, depth, counts and
// types are checked before anything is allocated for them.
#pragma once

#include <cstddef>
#include <expected>
#include <span>

#include "messages/bytes.hpp"
#include "messages/error.hpp"
#include "messages/message.hpp"

namespace danaus::messages {

/// The largest part (header or body) that is sent or accepted, in bytes.
inline constexpr std::size_t max_part_size = std::size_t{1} << 20U;
/// The deepest nesting of maps and arrays that is accepted.
inline constexpr std::size_t max_depth = 16;
/// The most values (map keys counted too) in one part that are accepted.
inline constexpr std::size_t max_values = 65'536;

/// Encodes a value of the wire: any struct of values.hpp, `Unit`, bool, integers, strings, and
/// vectors of these. Instantiated in codec.cpp for every type that a message or a reply is made of.
template <class T>
[[nodiscard]] Bytes encode(const T& value);

/// The inverse. Errors: Malformed, naming the field and what was wrong with it.
template <class T>
[[nodiscard]] std::expected<T, Error> decode(std::span<const std::byte> bytes);

/// Encodes as {"Name": {fields}}.
[[nodiscard]] Bytes encode_message(const Message& message);

/// Errors: Malformed; UnknownMessage, listing the names that are known.
[[nodiscard]] std::expected<Message, Error> decode_message(std::span<const std::byte> bytes);

}  // namespace danaus::messages
