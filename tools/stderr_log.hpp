// The log of the command: spdlog to stderr, by a sink that never blocks the thread that logs.
// Any thread may log; set up by the main thread before any other starts.
#pragma once

#include <spdlog/common.h>

namespace danaus::tools {

/// Makes stderr the sink of spdlog's default logger. A line goes out with one write(2), and only if
/// stderr takes it at once: while nobody reads a pipe, lines are dropped and counted, and the count
/// is told with the next line that goes. No queue and no thread, so the line before an `_exit` is
/// out.
void log_to_stderr(spdlog::level::level_enum level = spdlog::level::warn);

}  // namespace danaus::tools
