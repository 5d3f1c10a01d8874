// Words for error messages: what came off the wire, quoted so that it can go
// into a log. Any thread. Relies on nothing.
#pragma once

#include <ranges>
#include <string>
#include <string_view>

namespace danaus::messages::detail {

/// `text` with non-printing bytes escaped, cut after 64 bytes.
[[nodiscard]] std::string printable(std::string_view text);

/// The same in single quotes.
[[nodiscard]] std::string quoted(std::string_view text);

/// The names, separated by ", ".
template <std::ranges::input_range Names>
[[nodiscard]] std::string joined(const Names& names) {
  std::string text;
  for (const auto& name : names) {
    if (!text.empty()) {
      text += ", ";
    }
    text += name;
  }
  return text;
}

}  // namespace danaus::messages::detail
