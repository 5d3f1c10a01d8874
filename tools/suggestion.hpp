// "Did you mean …?": the name that a mistyped one was probably meant to be.
// Any thread. Relies on nothing.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace danaus::tools {

/// The candidate nearest to `typed` by edit distance, letter case aside; empty where none is near
/// enough to be a likely typing error (a third of its length, at least two edits).
[[nodiscard]] std::string_view nearest(std::string_view typed,
                                       std::span<const std::string_view> candidates);

/// "; did you mean \"X\"?" or nothing.
[[nodiscard]] std::string did_you_mean(std::string_view typed,
                                       std::span<const std::string_view> candidates);

}  // namespace danaus::tools
