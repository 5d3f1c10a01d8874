// Text that came from elsewhere, made safe to show on a terminal.
// Any thread. Relies on nothing.
#pragma once

#include <string>
#include <string_view>

namespace danaus::tools {

/// `text` with every control character (C0, DEL and C1, the terminal's escape sequences among them)
/// and every byte that is not valid UTF-8 written as `\xNN`. A newline counts as one too.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace danaus::tools
