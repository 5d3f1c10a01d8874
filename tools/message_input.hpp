// From what was typed to a message: the name, the JSON of its fields, actor references as strings.
// Any thread. Relies on messages/json.hpp for the form of each field.
#pragma once

#include <cstddef>
#include <istream>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "messages/message.hpp"

namespace danaus::tools {

/// The longest JSON text that is read. Binary is twice as long in hex as on the wire, numbers up to
/// four times; what is still too long for the wire then is refused there.
inline constexpr std::size_t max_json_size = 4 * (std::size_t{1} << 20U);

/// All of `input`. Throws UsageError past `limit` bytes.
[[nodiscard]] std::string read_bounded(std::istream& input, std::size_t limit = max_json_size);

/// Throws UsageError: line and column of what is broken.
[[nodiscard]] nlohmann::json parse_json(std::string_view text);

/// Replaces each string "ID@ENDPOINT" under a key `other` or `owner`, at any depth, by {"id",
/// "at"}. Throws UsageError for a string that is no actor reference.
void expand_references(nlohmann::json& value);

/// The message `name` with the fields in `text` (an object; empty text: no fields). Throws
/// UsageError that lists the right names where one is wrong.
[[nodiscard]] messages::Message parse_message(std::string_view name, std::string_view text);

}  // namespace danaus::tools
