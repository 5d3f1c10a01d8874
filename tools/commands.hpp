// The subcommands: one function each, in a file of its own name; main.cpp lists them.
// Main thread. Each throws UsageError or Error for main to report.
#pragma once

#include "tools/command_line.hpp"
#include "tools/exit_code.hpp"

namespace danaus::tools {

/// Serves until SIGTERM or SIGINT.
[[nodiscard]] ExitCode worker_command(Arguments arguments);
/// Sends one message to a manager and prints its reply.
[[nodiscard]] ExitCode inject_command(Arguments arguments);
/// Moves a file into a buffer.
[[nodiscard]] ExitCode put_command(Arguments arguments);
/// Moves a buffer into a file.
[[nodiscard]] ExitCode get_command(Arguments arguments);
/// Shows the devices of this machine.
[[nodiscard]] ExitCode devices_command(Arguments arguments);
/// Shows a running worker.
[[nodiscard]] ExitCode status_command(Arguments arguments);

}  // namespace danaus::tools
