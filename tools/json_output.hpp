// JSON as the command prints it: one line of ASCII, whatever the names in it.
// Any thread.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "messages/codec.hpp"

namespace danaus::tools {

/// One line; what is not ASCII, a control character or DEL is written as \uXXXX, what is not valid
/// UTF-8 as \ufffd.
[[nodiscard]] std::string to_line(const nlohmann::json& value);

/// Any encoded value of the wire as JSON. Throws Error: Malformed.
[[nodiscard]] nlohmann::json decode_to_json(std::span<const std::byte> encoded);

}  // namespace danaus::tools
