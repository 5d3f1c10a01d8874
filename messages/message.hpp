// Any message that a manager understands, and the names of all of them.
#pragma once

#include <span>
#include <string_view>
#include <variant>

#include "messages/manager_message.hpp"
#include "messages/service_message.hpp"

namespace danaus::messages {

/// The body of a request or cast: one message of either enum.
using Message = std::variant<ManagerMessage, ServiceMessage>;

/// The name on the wire of the message held.
[[nodiscard]] std::string_view message_name(const Message& message) noexcept;

/// The names of all messages, those of ManagerMessage first.
[[nodiscard]] std::span<const std::string_view> all_message_names() noexcept;

}  // namespace danaus::messages
