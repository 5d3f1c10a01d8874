// JSON for people: the command line and the golden vectors speak it, the wire does not.
// Any thread. Binary is lower-case hex, u64 stays a number.
#pragma once

#include <expected>
#include <span>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "messages/bytes.hpp"
#include "messages/envelope.hpp"
#include "messages/error.hpp"
#include "messages/message.hpp"

namespace danaus::messages {

/// Any encoded value as JSON, without knowing its type. Errors: Malformed.
[[nodiscard]] std::expected<nlohmann::json, Error> to_json(std::span<const std::byte> encoded);
/// The same; `Bytes` would otherwise be a span and a reply alike.
[[nodiscard]] std::expected<nlohmann::json, Error> to_json(const Bytes& encoded);

/// A message from its name and its fields. Errors: UnknownMessage (lists the names),
/// InvalidArgument for a field that is missing, unknown or of the wrong type (lists the fields).
[[nodiscard]] std::expected<Message, Error> message_from_json(std::string_view name,
                                                              const nlohmann::json& fields);

/// {"Name": {fields}}.
[[nodiscard]] nlohmann::json to_json(const Message& message);
[[nodiscard]] nlohmann::json to_json(const Header& header);
/// {"Ok": value} or {"Err": {"code", "message", "details"}}.
[[nodiscard]] nlohmann::json to_json(const ReplyBody& reply);

}  // namespace danaus::messages
