// How every subcommand ends: one place for exit codes and for the line that says what went wrong.
// Main thread. Relies on messages/error.hpp.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "messages/error.hpp"

namespace danaus::tools {

/// What scripts may rely on.
enum class ExitCode : int {
  success = 0,
  /// It was tried and failed; for `inject`: the manager answered with `Err`.
  failed = 1,
  /// The command line, a config file or the JSON of a message makes no sense.
  usage = 2,
  /// No answer: unreachable, lost, refused by authentication, timed out.
  unreachable = 3,
};

/// A command line that makes no sense. The message says what is wrong and what would be right.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// `unreachable` for an error that means that the peer did not answer, `failed` for any other.
[[nodiscard]] ExitCode exit_code_of(const Error& error) noexcept;

/// Prints the error to stderr as one line, `danaus COMMAND: MESSAGE [Code]`.
void report(std::string_view command, const Error& error);
/// The same for what has no code, with a pointer to the usage where `usage` is set.
void report(std::string_view command, std::string_view message, bool usage = false);

/// Writes `line` and a newline to stdout and flushes. Throws Error: IoFailed.
void print_line(std::string_view line);

}  // namespace danaus::tools
