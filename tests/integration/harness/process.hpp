// Process: a child process of a test. Killed and reaped with its object, so that no test leaves one
// behind. One thread at a time. Relies on posix_spawn(3), pidfd_open(2) and memfd_create(2).
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/integration/harness/deadline.hpp"
#include "tests/integration/harness/file_descriptor.hpp"

namespace danaus::integration {

/// How a process ended: by `exit(code)` or by a signal.
struct ExitStatus {
  std::optional<int> code;
  std::optional<int> signal;
  friend bool operator==(const ExitStatus&, const ExitStatus&) = default;
};

[[nodiscard]] std::string to_string(const ExitStatus& status);
/// GoogleTest's printer.
void PrintTo(const ExitStatus& status, std::ostream* stream);  // NOLINT(*-identifier-naming)

struct ProcessOptions {
  /// The program's path and its arguments.
  std::vector<std::string> arguments;
  /// "NAME=VALUE", on top of the test's own environment.
  std::vector<std::string> environment;
};

class Process {
 public:
  /// Throws std::system_error when the program cannot be started.
  explicit Process(const ProcessOptions& options);
  Process(Process&& other) noexcept;
  Process& operator=(Process&&) = delete;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }

  /// Sends a signal. With SIGSTOP, returns once every thread has stopped.
  void signal(int number);

  /// The next line of its standard output, without the newline; nothing at its end or at
  /// `deadline`.
  [[nodiscard]] std::optional<std::string> read_line(Deadline deadline = Deadline{});
  /// What is left of its standard output, up to its end or `deadline`.
  [[nodiscard]] std::string read_rest(Deadline deadline = Deadline{});

  /// All that it has written to standard error so far.
  [[nodiscard]] std::string standard_error() const;

  /// Readable once it has ended: for poll(2).
  [[nodiscard]] int pidfd() const noexcept { return pidfd_.get(); }

  /// How it ended; nothing when it still runs at `deadline`.
  [[nodiscard]] std::optional<ExitStatus> wait_for_exit(Deadline deadline = Deadline{});

 private:
  [[nodiscard]] bool fill_output(Deadline deadline);

  pid_t pid_ = -1;
  FileDescriptor pidfd_;
  FileDescriptor output_;
  FileDescriptor error_;
  std::string unread_;
  std::optional<ExitStatus> exit_status_;
};

/// What a command that ran to its end had to say.
struct CommandResult {
  ExitStatus status;
  std::string output;
  std::string error;
};

/// Runs a program to its end. Throws std::runtime_error when it still runs at `deadline`.
[[nodiscard]] CommandResult run_command(const ProcessOptions& options,
                                        Deadline deadline = Deadline{});

/// The path of a program that was built next to this test.
[[nodiscard]] std::string built_program(const std::string& name);

}  // namespace danaus::integration
